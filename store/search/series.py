"""Short files in a numbered series, a turn of a conversation or a day each, read with their neighbours. Pure.

A short file often lacks the words of a question that the one before it holds, as an answer lacks those of what was
asked. So it borrows: a word that it lacks counts in part when a neighbour has it, the more the shorter it is.
"""

import re
from collections.abc import Iterable, Mapping

from memex.store.entry_path import is_entry

MAX_SHORT_LEXEMES = 60  # lexemes; a longer file speaks for itself
SHARE_BY_DISTANCE = {1: 70, 2: 50}  # of what a word is worth in a neighbour, in hundredths, by its distance

_NUMBERED = re.compile(r"(?P<head>(?:.*[^0-9])?)(?P<number>[0-9]{1,9})(?P<tail>(?:\.[^./0-9]+)?)", re.DOTALL)


def neighbours(path: str, reach: int) -> dict[int, str]:
    """Return the paths before and after one in its series, by distance; none when its name ends in no number.

    The name of a journal entry ends in a handle, which counts nothing.

    `log/0007.md` stands between `log/0006.md` and `log/0008.md`. What stands at them is not known here.
    """
    match = _NUMBERED.fullmatch(path)
    if match is None or is_entry(path):
        return {}
    number, width = int(match["number"]), len(match["number"])
    return {
        distance: f"{match['head']}{number + distance:0{width}}{match['tail']}"
        for distance in range(-reach, reach + 1)
        if distance and number + distance >= 0
    }


def borrow_scores(
    own: Mapping[str, int], length: int, around: Iterable[tuple[int, Mapping[str, int]]]
) -> dict[str, int]:
    """Return what a file's neighbours add to its score, by lexeme.

    Args:
        own: what each lexeme of the query scores in the file.
        length: the length of the file, in lexemes.
        around: for each neighbour, the distance and the score of each lexeme there.
    """
    room = max(0, MAX_SHORT_LEXEMES - length)
    best: dict[str, int] = {}
    for distance, scores in around:
        share = SHARE_BY_DISTANCE.get(abs(distance), 0)
        for lexeme, value in scores.items():
            best[lexeme] = max(best.get(lexeme, 0), value * share * room // (100 * MAX_SHORT_LEXEMES))
    return {
        lexeme: value - own.get(lexeme, 0) for lexeme, value in best.items() if value > own.get(lexeme, 0)
    }
