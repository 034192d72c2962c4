"""On how many inputs a property is tried: few in each run, many in `make test-all`."""

from hypothesis import settings

settings.register_profile("quick", max_examples=30, deadline=None)
settings.register_profile("thorough", max_examples=1_000, deadline=None)
settings.load_profile("quick")


def costly() -> int:
    """Return the number for a property of which one input takes seconds."""
    return max(2, settings().max_examples // 20)
