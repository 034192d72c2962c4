"""Statements compared: their values, what two have in common, and what a new one makes of an older one."""
