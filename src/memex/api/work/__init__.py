"""Where work stands, as programs ask for it: typed, in this process, and at an address."""
