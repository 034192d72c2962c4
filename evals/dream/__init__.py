"""How much known dirt dreams find in memories, and how much that only looks like it they leave alone."""
