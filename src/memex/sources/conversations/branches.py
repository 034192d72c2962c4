"""The order of a conversation that is a tree: edited questions and regenerated answers are branches."""

from collections.abc import Iterator, Mapping


def path_to(leaf: str | None, parents: Mapping[str, str | None]) -> list[str]:
    """Return the nodes from the root to `leaf`; a missing parent or a cycle ends the way."""
    path: list[str] = []
    seen: set[str] = set()
    while leaf is not None and leaf in parents and leaf not in seen:
        seen.add(leaf)
        path.append(leaf)
        leaf = parents[leaf]
    path.reverse()
    return path


def depths(parents: Mapping[str, str | None]) -> dict[str, int]:
    """Return how far each node is from its root; a cycle is as deep as it is long."""
    depth: dict[str, int] = {}
    for node in parents:
        way: dict[str, None] = {}
        here: str | None = node
        while here is not None and here in parents and here not in depth and here not in way:
            way[here] = None
            here = parents[here]
        above = depth.get(here, 0) if here is not None else 0
        for number, passed in enumerate(reversed(way), start=1):
            depth[passed] = above + number
    return depth


def in_order(path: list[str], parents: Mapping[str, str | None]) -> Iterator[tuple[str, bool]]:
    """Yield every node once, and whether it is on the path: a branch follows the node that it leaves.

    Nodes that hang on nothing come last.
    """
    if len(path) == len(parents):
        yield from ((node, True) for node in path)
        return
    on_path = set(path)
    branches: dict[str | None, list[str]] = {}
    for node, parent in parents.items():
        if node not in on_path:
            branches.setdefault(parent if parent in parents else None, []).append(node)
    for node in path:
        yield node, True
        yield from _branches(branches.pop(node, []), branches)
    yield from _branches(branches.pop(None, []), branches)
    while branches:  # only cycles are left
        yield from _branches(branches.pop(next(iter(branches))), branches)


def _branches(roots: list[str], branches: dict[str | None, list[str]]) -> Iterator[tuple[str, bool]]:
    waiting = roots[::-1]
    while waiting:
        node = waiting.pop()
        yield node, False
        waiting.extend(reversed(branches.pop(node, [])))
