"""Documents from Python: the methods of a user, and the two implementations that answer them."""
