"""Plugins of Memex for coding agents that have no hooks: each runs `memex-hook` at the events of its agent."""
