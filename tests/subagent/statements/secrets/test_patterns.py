"""Regular expressions that are compiled at their first use."""

import re

import pytest

from memex.subagent.statements.secrets.patterns import lazy_pattern


def test_a_lazy_pattern_finds_what_a_compiled_one_finds() -> None:
    """Methods and attributes are those of the compiled expression, at the first use and at later ones."""
    compiled, lazy = (
        re.compile("(?P<word>TEA)|x", re.IGNORECASE),
        lazy_pattern("(?P<word>TEA)|x", re.IGNORECASE),
    )

    for _ in range(2):
        assert [found.span("word") for found in lazy.finditer("tea, Tea")] == [(0, 3), (5, 8)]
        assert lazy.sub("-", "tea x") == "- -"
        assert (lazy.pattern, lazy.flags, lazy.groups) == (compiled.pattern, compiled.flags, compiled.groups)


def test_a_wrong_expression_is_noticed_at_its_first_use() -> None:
    """Nothing is compiled before."""
    wrong = lazy_pattern("(")

    with pytest.raises(re.error):
        wrong.search("tea")
