"""Compares all ordered pairs of each set: none may take the other one out of memory.

Run `python -m memex.evals.true_statements.compare` in a checkout: 1,245,000 pairs, about a minute and a half on one
core. It prints each pair of which one would go, and ends with status 1 if there is any.
"""

import sys
import time

from memex.evals.true_statements.sets import load_sets, removed_pairs, views_of


def main() -> int:
    """Compare all pairs, and return the status of the process."""
    started, pairs, found = time.monotonic(), 0, 0
    for statement_set in load_sets():
        views = views_of(statement_set)
        pairs += len(views) * (len(views) - 1)
        for removed in removed_pairs(views, views):
            found += 1
            sys.stdout.write(f"{statement_set.name}\n  older: {removed.older}\n  newer: {removed.newer}\n")
    seconds = time.monotonic() - started
    sys.stdout.write(f"{pairs:,} pairs compared in {seconds:.0f} s; {found} took the older statement out\n")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
