"""The HTTP surface: parse, call the service, render."""
