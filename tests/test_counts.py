"""Numbers that several processes add up."""

import subprocess
import sys
from typing import get_args

from memex.counts import SharedCounts
from memex.metrics import BUCKETS_S, MAX_MODELS
from memex.service.service import ACTIONS, TOOLS
from memex.store.records import Status

# A process of its own forks, because that of the tests has threads.
PROGRAM = """
import os, signal
from memex.counts import SharedCounts

counts = SharedCounts(2)
counts.add("calls", ("find",))
for _ in range(2):
    worker = os.fork()
    if worker == 0:
        counts.take(1)
        counts.add("calls", ("find",), 2)
        counts.add("calls", ("read",), 0.5)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(worker, 0)
print(counts.totals())
"""


def test_the_numbers_of_a_killed_process_stay() -> None:
    """What it added is in the sum, and the next process of its region goes on there."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)

    assert done.stdout.endswith("{('calls', ('find',)): 5.0, ('calls', ('read',)): 1.0})\n")


def test_what_a_process_measured_of_itself_ends_with_it() -> None:
    """A gauge is replaced, summed over the regions, and cleared when its process has ended."""
    counts = SharedCounts(2)
    for region in (0, 1):
        counts.take(region)
        for value in (7, 3):
            counts.set("connections", ("used",), value)
        counts.add("calls")

    assert counts.totals() == {("connections", ("used",)): 6, ("calls", ()): 2}
    counts.clear(1, ["connections"])
    assert counts.totals() == {("connections", ("used",)): 3, ("calls", ()): 2}


def test_all_series_have_room() -> None:
    """As many as the labels allow, with long names of models; a series without room is not counted."""
    counts = SharedCounts()
    models = [f"a-provider:{number:0100}" for number in range(MAX_MODELS + 1)]
    series = [
        ("memex_operations_total", (tool, status))
        for tool in (*TOOLS, *ACTIONS, "other")
        for status in (*get_args(Status), "cancelled")
    ]
    series += [
        ("memex_operation_seconds", (tool, str(bucket)))
        for tool in (*TOOLS, *ACTIONS, "other")
        for bucket in (*range(len(BUCKETS_S) + 1), "sum")
    ]
    series += [
        ("memex_model_request_seconds", (model, str(bucket)))
        for model in models
        for bucket in range(len(BUCKETS_S) + 12)
    ]
    for name, labels in series:
        counts.add(name, labels)

    assert counts.totals() == dict.fromkeys(series, 1)
    for number in range(20_000):
        counts.add("more", (str(number),))
    assert counts.totals().items() >= dict.fromkeys(series, 1).items()
