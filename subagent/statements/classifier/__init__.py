"""Linear models of sentences: what they are about, which ask to forget, and which questions state something."""
