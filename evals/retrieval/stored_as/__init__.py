"""Other ways to store the data of a suite than as files of memory."""
