"""Dreams: what can be tidied in a mount, as proposals that a person decides about."""
