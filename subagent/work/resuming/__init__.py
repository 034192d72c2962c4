"""What a new session is given of the work before it: the lane that it goes on with, and a pack of what stands."""
