"""How well secrets are found in texts: made-up secrets of public formats, and ordinary lines of real notes."""
