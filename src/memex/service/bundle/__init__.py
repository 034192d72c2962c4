"""One call of the log as one file: with all that it takes to run it again on another machine."""
