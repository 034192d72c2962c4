"""Notes and questions of our own in languages other than English, and the suite that asks them."""
