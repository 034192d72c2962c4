"""What the service says of itself to whoever asks: its health, its numbers, and a greeting."""
