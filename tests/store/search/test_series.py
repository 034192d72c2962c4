"""Short files in a numbered series."""

from hypothesis import given
from hypothesis import strategies as st
from tests.kit.memory import put

from memex.service.service import Caller, Service
from memex.store.memory import Memory
from memex.store.records import Hit
from memex.store.search.series import MAX_SHORT_LEXEMES, borrow_scores, neighbours

scores = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 1 << 22))


def test_neighbours_are_named_by_the_number_before_and_after() -> None:
    """The number at the end of a file's name counts, its leading zeros stay; other names have no neighbours."""
    for path, expected in (
        ("log/0007.md", {-1: "log/0006.md", 1: "log/0008.md"}),
        ("2024-05-07.md", {-1: "2024-05-06.md", 1: "2024-05-08.md"}),
        ("99", {-1: "98", 1: "100"}),
        ("a/turn-0.md", {1: "a/turn-1.md"}),
        ("v1.2/notes.md", {}),
        ("7/notes", {}),
        ("a7b.md", {}),
        ("1234567890.md", {}),
        ("1.tar.gz", {}),
        ("٣.md", {}),
    ):
        assert neighbours(path, 1) == expected


@given(st.from_regex(r"([a-z]/)?[a-z-]*[0-9]{1,9}(\.md)?", fullmatch=True))
def test_being_neighbours_goes_both_ways(path: str) -> None:
    """Who stands after another stands before by it, unless a zero more or less makes it another series."""
    for distance, other in neighbours(path, 2).items():
        if len(other) == len(path):
            assert neighbours(other, 2)[-distance] == path


def test_a_word_is_borrowed_by_share_and_room() -> None:
    """By hand: 70 % of the nearest, 50 % of the next, of these the half for a file of half the length."""
    around = [(-1, {"a": 1000, "b": 400}), (2, {"a": 900, "c": 100}), (3, {"d": 9})]

    assert borrow_scores({"b": 10}, 0, around) == {"a": 700, "b": 270, "c": 50}
    assert borrow_scores({"b": 10}, MAX_SHORT_LEXEMES // 2, around) == {"a": 350, "b": 130, "c": 25}
    assert borrow_scores({}, MAX_SHORT_LEXEMES, around) == {}


@given(scores, st.integers(0, 2 * MAX_SHORT_LEXEMES), st.lists(st.tuples(st.integers(-3, 3), scores)))
def test_borrowing_only_adds(
    own: dict[str, int], length: int, around: list[tuple[int, dict[str, int]]]
) -> None:
    """A word is never worth less for the neighbours, and never more than in the best of them."""
    added = borrow_scores(own, length, around)

    assert all(value > 0 for value in added.values())
    for lexeme, value in added.items():
        assert own.get(lexeme, 0) + value <= max(there.get(lexeme, 0) for _, there in around)


async def find(service: Service, caller: Caller, query: str, **more: object) -> list[Hit]:
    """Return the hits of a search."""
    async with service.database.transaction(caller.access, snapshot=True) as connection:
        return list((await Memory(connection, caller.access).find(query, **more)).hits)


TALK = {
    "user/talk/0001.md": "**Ana**: Hello again!",
    "user/talk/0002.md": "**Ben**: Which instrument does your sister play?",
    "user/talk/0003.md": "**Ana**: She is at the piano all evening.",
    "user/talk/0004.md": "**Ben**: My brother has a piano too, he never plays.",
    "user/other.md": "The piano tuner comes on Monday.",
}


async def test_an_answer_is_found_by_the_words_of_its_question(service: Service, alice: Caller) -> None:
    """The turn after a question holds few of its words, borrows the others, and the match says which."""
    await put(service, alice, TALK)

    found = await find(service, alice, "Which instrument does the sister play, the piano?")

    by_path = {hit.path: hit for hit in found}
    answer = by_path["user/talk/0003.md"]
    assert {"instrument", "sister"} <= answer.match.borrowed.keys()
    assert answer.score == sum(answer.match.terms.values()) + sum(answer.match.borrowed.values())
    assert [hit.path for hit in found].index(answer.path) < [hit.path for hit in found].index("user/other.md")
    assert "files beside it" in answer.reason
    assert not by_path["user/other.md"].match.borrowed


async def test_a_turn_that_holds_no_word_is_not_found(service: Service, alice: Caller) -> None:
    """What borrows must hold a word of the query itself: neighbours alone make no hit."""
    await put(service, alice, TALK)

    found = await find(service, alice, "instrument sister")

    assert [hit.path for hit in found] == ["user/talk/0002.md"]


async def test_filters_hold_for_neighbours_too(service: Service, alice: Caller) -> None:
    """A neighbour outside of the prefix may lend its words and is no hit."""
    await put(service, alice, TALK)

    found = await find(service, alice, "instrument sister piano", prefix="user/talk/0003")

    assert [hit.path for hit in found] == ["user/talk/0003.md"]
    assert found[0].match.borrowed


async def test_long_files_speak_for_themselves(service: Service, alice: Caller) -> None:
    """A file of many words borrows nothing, whatever its name."""
    long = " ".join(f"word{number}" for number in range(80))
    await put(service, alice, {"user/1.md": "alpha beta", "user/2.md": f"beta {long}"})

    found = {hit.path: hit for hit in await find(service, alice, "alpha beta")}

    assert not found["user/2.md"].match.borrowed
