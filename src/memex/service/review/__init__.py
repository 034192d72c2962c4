"""Items that wait for a person: their kinds, where they come from, and what becomes of them."""
