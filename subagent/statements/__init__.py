"""Statements: reading a text as typed statements by rules, and comparing statements. Pure."""
