"""The work that a new session is given: the lane that it goes on with, and a pack of what stands."""
