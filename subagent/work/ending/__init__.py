"""The ways in which an item of work ends: a person's decision, the end of an agent's plan, and proof."""
