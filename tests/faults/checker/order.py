"""Whether one order explains a history: a graph of what must come before what, which may hold no cycle.

The edges are those of Adya's dependencies, and those of real time, which make the order strictly serializable. As
answers name versions and the log names states, all edges are known and none is guessed.

Sources: Adya, "Weak Consistency" (MIT, 1999); Kingsbury and Alvaro, "Elle" (VLDB 2020). Real time takes few edges
by a chain of the moments at which answers came.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise

import networkx as nx
from tests.faults.checker.history import Anomaly, History, Operation

WRITE_WRITE = "is followed by the write"
WRITE_READ = "is seen by"
READ_WRITE = "does not see the write"
REAL_TIME = "was answered before the request of"

MAX_TRIED = 100  # cycles that are looked at for the shortest one

Node = tuple[str, str | float]  # ("call", its id) or ("moment", when)


def find_cycles(history: History) -> list[Anomaly]:
    """Return an anomaly for each group of operations that no order explains."""
    graph = _graph(history)
    return [
        _described(graph.subgraph(part))
        for part in nx.strongly_connected_components(graph)
        if len(part) > 1 or any(graph.has_edge(node, node) for node in part)
    ]


def _graph(history: History) -> "nx.DiGraph[Node]":
    graph: nx.DiGraph[Node] = nx.DiGraph()
    _add_dependencies(graph, history)
    _add_real_time(graph, history.operations)
    return graph


def _add_dependencies(graph: "nx.DiGraph[Node]", history: History) -> None:
    writers = {(one.scope, one.rev): one.call_id for one in history.revisions}
    places = {(one.file, one.version): one for one in history.revisions}
    for (scope, rev), call_id in writers.items():
        if following := writers.get((scope, rev + 1)):
            _add(graph, call_id, following, WRITE_WRITE)
    for one in history.operations:
        if one.outcome != "acknowledged":
            continue
        for scope, rev in (one.state or {}).items():
            _add(graph, writers.get((scope, rev)), one.call_id, WRITE_READ)
            _add(graph, one.call_id, writers.get((scope, rev + 1)), READ_WRITE)
        for seen in one.read:
            if revision := places.get((seen.file, seen.version)):
                _add(graph, revision.call_id, one.call_id, WRITE_READ)
                if revision.rev_end is not None:
                    _add(graph, one.call_id, writers.get((revision.scope, revision.rev_end)), READ_WRITE)


def _add(graph: "nx.DiGraph[Node]", before: str | None, after: str | None, reason: str) -> None:
    if before is not None and after is not None and before != after:
        graph.add_edge(("call", before), ("call", after), reason=reason)


def _add_real_time(graph: "nx.DiGraph[Node]", operations: tuple[Operation, ...]) -> None:
    """An operation comes before the moment of its answer, and after the last answer before its request."""
    ends = sorted({one.end for one in operations if one.end is not None})
    for moment, following in pairwise(ends):
        graph.add_edge(("moment", moment), ("moment", following), reason=REAL_TIME)
    for one in operations:
        # An error may tell of a moment later than the one at which the call looked: only what was done is ordered.
        if one.end is not None and one.outcome == "acknowledged":
            graph.add_edge(("call", one.call_id), ("moment", one.end), reason=REAL_TIME)
        if (at := bisect_left(ends, one.start)) > 0:
            graph.add_edge(("moment", ends[at - 1]), ("call", one.call_id), reason=REAL_TIME)


def _described(part: "nx.DiGraph[Node]") -> Anomaly:
    """Return the shortest cycle of a part in words; it is a stale read if an old state was seen after a new one."""
    cycle = _shortest_cycle(part)
    edges = list(_between_calls(part, cycle))
    reasons = {reason for _, reason, _ in edges}
    kind = "stale read" if READ_WRITE in reasons and REAL_TIME in reasons else "cycle"
    return Anomaly(kind, "; ".join(f"{before} {reason} {after}" for before, reason, after in edges))


def _shortest_cycle(part: "nx.DiGraph[Node]") -> list[Node]:
    """Return a cycle: of a few that go through a read of an old state, the shortest."""
    calls = [edge for edge in part.edges(data="reason") if edge[0][0] == edge[1][0] == "call"]
    calls.sort(key=lambda edge: edge[2] != READ_WRITE)
    return min((nx.shortest_path(part, after, before) for before, after, _ in calls[:MAX_TRIED]), key=len)


def _between_calls(part: "nx.DiGraph[Node]", cycle: list[Node]) -> Iterator[tuple[str, str, str]]:
    """Yield the edges of a cycle, with the moments between two calls as one edge."""
    at = next(index for index, node in enumerate(cycle) if node[0] == "call")
    nodes = [*cycle[at:], *cycle[:at], cycle[at]]
    before = nodes[0]
    for node, following in pairwise(nodes):
        if following[0] == "call":
            yield str(before[1]), part.edges[node, following]["reason"], str(following[1])
            before = following
