"""The cases of the trust check."""

from memex.evals.trust.cases import ASKED_FAMILIES, adversarial, asked_first, templates


def test_a_host_asks_before_it_tells() -> None:
    """In each case in which a request takes something out, and in no other; all else stays as it was."""
    for made in (list(templates()), list(adversarial())):
        hosted = list(asked_first(made))
        plain = [case for case in made if case.family in ASKED_FAMILIES]

        assert {case.family for case in hosted} == ASKED_FAMILIES
        assert len(hosted) == len(plain)
        for case, before in zip(hosted, plain, strict=True):
            assert case.steps[-2].text.startswith("Forget ")
            assert (*case.steps[:-2], case.steps[-1]) == before.steps
            assert (case.gone, case.kept, case.new) == (before.gone, before.kept, before.new)
