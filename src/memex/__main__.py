"""`python -m memex`: the command `memex`."""

from memex.cli.main import main

main()
