"""A chat model names what turns of sessions say about work, and code checks each of its quotations."""
