"""Statements that may answer a question though search by words did not find them: by themes, and by meaning."""
