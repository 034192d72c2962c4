"""Under which heading a statement stands in the file of its kind. Pure.

A statement goes under the heading of its topic if the file has one, and a topic gets a heading with its third
statement. All others stand under the general heading of the file, such as `Notes`.
"""

from collections.abc import Collection, Sequence

from memex.subagent.statements.places import stands_for_kind
from memex.subagent.statements.topics import (
    heading_for,
    heading_keys,
    headings_by_key,
    is_about,
    new_headings,
)


def is_topic(heading: str) -> bool:
    """Return whether a heading may be one that Memex made for a topic: a single word."""
    return len(heading.split()) == 1 and len(heading_keys(heading)) == 1 and not stands_for_kind(heading)


def leaves_topic(heading: str, older: str, newer: str) -> bool:
    """Return whether a statement names the heading that it stands under, and what replaces it does not."""
    keys = frozenset[str]() if stands_for_kind(heading) else heading_keys(heading)
    return bool(keys) and is_about(older, keys) and not is_about(newer, keys)


def assign_headings(
    texts: Sequence[str],
    fresh: Collection[int],
    headings: Sequence[str],
    *,
    title: str = "",
    own_names: Collection[str] = (),
) -> dict[int, str]:
    """Return the headings of the statements that get one, by their numbers.

    Args:
        texts: the statements under the general heading of a file, the new ones last.
        fresh: the numbers of those that seek a heading; others move only with them.
        headings: those that the file has.
        title: of the file, which is no heading in it.
        own_names: keys of the user's own name.
    """
    topics = [heading for heading in headings if not stands_for_kind(heading)]
    by_key = headings_by_key(topics)
    assigned = {
        number: heading for number in fresh if (heading := heading_for(texts[number], by_key)) is not None
    }
    rest = [number for number in range(len(texts)) if number not in assigned]
    waiting = [place for place, number in enumerate(rest) if number in fresh]
    known = {heading.casefold(): heading for heading in reversed(topics)}
    found = new_headings([texts[number] for number in rest], waiting, taken={title}, own=own_names)
    for heading, members in found:
        existing = known.get(heading.casefold(), heading)
        assigned |= {rest[place]: existing for place in members}
    return assigned
