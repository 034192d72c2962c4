"""How well turns of sessions are read for work: labelled turns, and precision and recall by kind."""
