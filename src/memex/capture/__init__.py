"""Capture of coding agents, after the hook: what was noted is delivered, and capture is turned on and off."""
