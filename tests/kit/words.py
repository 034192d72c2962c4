"""Words that stand nowhere else."""

# Without vowels, so that no stemmer changes a word; of the same length, so that none holds another one.
LETTERS, LENGTH = "bcdfghjklmnpqrtvwxz", 7


def word_of(number: int) -> str:
    """Return a word that no other number has."""
    letters = []
    for _ in range(LENGTH):
        number, at = divmod(number, len(LETTERS))
        letters.append(LETTERS[at])
    return "".join(letters)
