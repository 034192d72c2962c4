"""Files as a person looks through them: folders with counts, and lists with filters."""
