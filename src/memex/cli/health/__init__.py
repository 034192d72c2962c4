"""Commands that say whether Memex works: `memex doctor` on this machine, `memex health` of a running service."""
