"""The check whether a memory can be trusted: what was forgotten stays away, what was corrected is correct."""
