"""BEAM played to memory: the messages of a user are remembered, and questions about them are asked."""
