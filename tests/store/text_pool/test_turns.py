"""Tenants and users take turns."""

from hypothesis import given
from hypothesis import strategies as st

from memex.store.text_pool.turns import Owner, Turns

ALICE, BOB, EVE = (1, "alice"), (1, "bob"), (2, "eve")
owners = st.tuples(st.integers(1, 3), st.sampled_from("abc"))


def order(*waiting: Owner) -> list[Owner]:
    """Return in which order the tasks of owners are taken, each ending before the next one begins."""
    turns: Turns[Owner] = Turns(1)
    for owner in waiting:
        turns.add(owner, owner)
    taken = []
    while (found := turns.take()) is not None:
        taken.append(found[1])
        turns.end(found[0])
    return taken


def test_a_tenant_waits_for_one_task_of_another() -> None:
    """However many tasks of one tenant wait already."""
    assert order(ALICE, ALICE, ALICE, EVE) == [ALICE, EVE, ALICE, ALICE]


def test_users_share_the_turns_of_their_tenant() -> None:
    """A second user of a tenant does not halve the turns of another tenant."""
    assert order(ALICE, ALICE, BOB, BOB, EVE, EVE) == [ALICE, EVE, BOB, EVE, ALICE, BOB]


def test_a_user_leaves_a_process_to_others() -> None:
    """Of a user, only so many tasks are under way."""
    turns: Turns[int] = Turns(1)
    turns.add(ALICE, 1)
    turns.add(ALICE, 2)

    assert turns.take() == (ALICE, 1)
    assert turns.take() is None
    turns.add(BOB, 3)
    assert turns.take() == (BOB, 3)
    turns.end(ALICE)
    assert turns.take() == (ALICE, 2)


@given(st.lists(owners, max_size=30))
def test_each_task_has_its_turn_once_and_in_order(waiting: list[Owner]) -> None:
    """Tasks of one user keep their order, and none is lost."""
    turns: Turns[tuple[Owner, int]] = Turns(2)
    for number, owner in enumerate(waiting):
        turns.add(owner, (owner, number))
    taken = []
    while (found := turns.take()) is not None:
        taken.append(found[1])
        turns.end(found[0])

    assert sorted(number for _, number in taken) == list(range(len(waiting)))
    for owner in set(waiting):
        numbers = [number for other, number in taken if other == owner]
        assert numbers == sorted(numbers)
