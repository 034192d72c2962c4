"""The cases: what is told, what is asked to be forgotten or corrected, and which words contexts may not hold then.

The families follow ForgetEval (arXiv 2606.15903), whose abstract alone was read. The texts were written before the
rules of `memory_remember` were looked at; of these, only the pages of the documentation were known.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

Family = Literal[
    "plain",
    "identifier",
    "everything",
    "correction",
    "retraction",
    "negation",
    "reworded",
    "older",
    "import",
    "lookalike",
]
Door = Literal["tell", "write", "vault", "conversation"]

FOLDER = Path(__file__).parent
FAMILIES: tuple[Family, ...] = Family.__args__  # type: ignore[attr-defined]
TEMPLATE_CASES, ADVERSARIAL_CASES, TWIN_FACTS = 40, 24, 10  # a family, a family, a text
ASKED_FAMILIES = frozenset({"plain", "identifier", "everything", "correction", "retraction", "negation"})
SEED = 2606
FIRST_DAY, OLDER_DAY = "2026-01-10", "2026-01-05"

REQUESTS = {
    "plain": (
        "Please forget that {s}",
        "Forget {thing}.",
        "Forget what I told you about {thing}.",
        "Please delete {thing} from your memory.",
        "Remove {thing} from your memory.",
        "Don't remember {thing} any more.",
    ),
    "identifier": (
        "Forget {v}.",
        "Please delete {v} from your memory.",
        "Remove {v} from what you know about me.",
        "Please forget {v}.",
    ),
    "everything": (
        "Forget everything about {x}.",
        "Please delete everything you know about {x}.",
        "Remove everything about {x} from your memory.",
        "I want you to forget all about {x}.",
    ),
    "correction": (
        "No, that's wrong. {sn}",
        "Correction: {sn}",
        "Actually, {sn}",
        "That's not right. {sn}",
        "Sorry, I made a mistake: {sn}",
        "You've got that wrong, {sn}",
    ),
    "retraction": (
        "I misspoke about {thing}, please disregard it.",
        "What I said about {thing} was wrong.",
        "Scratch what I told you about {thing}.",
        "I take back what I said about {thing}.",
        "Ignore what I said about {thing}, it isn't true.",
    ),
    "negation": ("{no}",),
    "reworded": ("{s2}", "{s3}"),
    "older": ("{s}",),
    "import": ("{s}",),
    "lookalike": ("{sd}",),
}
_LOOKALIKES = str.maketrans("aeopcxyiAEOKMTBHCPX", "аеорсхуіАЕОКМТВНСРХ")


@dataclass(frozen=True, slots=True)
class Step:
    """Something that is told or brought in; `day` is when it was said, if not now."""

    text: str
    day: str | None = None
    door: Door = "tell"


@dataclass(frozen=True, slots=True)
class TrustCase:
    """A case of a family.

    Attributes:
        steps: in their order.
        ask: the question.
        old: the question by the old wording.
        gone: what no context may hold, without case.
        new: what the context of the question must hold.
        kept: what must be found all the same: questions with words of their contexts.
    """

    id: str
    family: Family
    steps: tuple[Step, ...]
    ask: str
    old: str
    gone: tuple[str, ...]
    new: str | None
    kept: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Twin:
    """A text that takes nothing out, and its memory; `known` are questions and words of their contexts."""

    id: str
    told: tuple[str, ...]
    text: str
    known: Mapping[str, str]


@cache
def read(name: str) -> Any:  # of a file beside this one
    """Return what a file holds."""
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))


def templates() -> Iterator[TrustCase]:
    """Make the cases of plain wording."""
    for family in FAMILIES:
        yield from _cases(family, REQUESTS[family], TEMPLATE_CASES, "template")


def adversarial() -> Iterator[TrustCase]:
    """Make the cases of wording as people type."""
    for family in FAMILIES:
        yield from _cases(family, read("adversarial")[family], ADVERSARIAL_CASES, "adversarial")


def asked_first(cases: Iterable[TrustCase]) -> Iterator[TrustCase]:
    """Return the cases in which a request takes something out, with a host that first asks for it in plain words.

    That is a host with a tool to forget: it calls it with the words that are meant, and tells memory the text then.
    """
    for case in cases:
        if case.family in ASKED_FAMILIES:
            subject = case.ask.removeprefix("What do you know about ").rstrip("?")
            words = f"everything about {subject}" if case.family == "everything" else f"this: {case.old}"
            *before, asked = case.steps
            yield replace(case, id=f"host-{case.id}", steps=(*before, Step(f"Forget {words}"), asked))


def twins() -> Iterator[Twin]:
    """Make the texts that take nothing out."""
    rng = random.Random(SEED)  # noqa: S311  # the same cases each time
    for number, text in enumerate(read("twins")):
        for fact in rng.sample(read("facts"), TWIN_FACTS):
            beside = rng.sample([other for other in read("facts") if other is not fact], 3)
            value = {id(each): rng.choice(each["values"]) for each in (fact, *beside)}
            told = tuple(each["says"][0].format(v=value[id(each)]) for each in (fact, *beside))
            words = {"v": value[id(fact)], "thing": fact["thing"], "s": _inner(told[0])}
            known = {each["ask"]: value[id(each)] for each in (fact, beside[0])}
            yield Twin(f"twin-{number}-{fact['thing']}", told, text.format(**words), known)


def _cases(family: Family, texts: Sequence[str], count: int, kind: str) -> Iterator[TrustCase]:
    rng = random.Random(f"{SEED} {family} {kind}")  # noqa: S311  # as above
    for number in range(count):
        text, name = texts[number % len(texts)], f"{kind}-{family}-{number}"
        if family == "everything":
            yield _everything(name, text, read("subjects")[number % 8], rng)
            continue
        facts = [fact for fact in read("facts") if "id" in fact or family != "identifier"]
        yield _case(name, family, text, facts[rng.randrange(len(facts))], rng, number)


def _case(
    name: str, family: Family, text: str, fact: dict[str, Any], rng: random.Random, number: int
) -> TrustCase:
    old, new = rng.sample(fact["values"], 2)
    odd = disguised(old, number) if family == "lookalike" else rewritten(old, number)
    says = [said.format(v=old) for said in fact["says"]]
    spoken = fact["says"][0]
    words = {
        "v": old, "n": new, "d": odd, "thing": fact["thing"],
        "s": _inner(says[0]), "s2": says[1], "s3": says[2],
        "sn": _inner(spoken.format(v=new)), "sd": spoken.format(v=odd), "no": fact["ended"].format(v=old),
    }  # fmt: skip
    if family in ("older", "import") or "Remember" in text:
        words["s"] = says[0]
    asked = text.format(**words)
    told = [Step(says[0], FIRST_DAY)]
    beside = rng.choice([other for other in read("facts") if other["thing"] != fact["thing"]])
    other = rng.choice(beside["values"])
    control = Step(beside["says"][0].format(v=other), FIRST_DAY)
    kept = {beside["ask"]: other}
    gone: tuple[str, ...] = (old,)
    wanted = None
    if family == "plain":
        if "plumber" in text:
            kept["When does the plumber come?"] = "plumber"
        steps = [Step(asked)]
    elif family == "identifier":
        near = f"{old}9" if old[-1].isdigit() else f"x{old}"
        told += [Step(says[1], FIRST_DAY), Step(f"The spare one of Jonas is {near}.", FIRST_DAY)]
        kept["What is the spare one of Jonas?"] = near
        gone = tuple(f"{before}{old}{after}" for before in (" ", "\n") for after in (" ", ".", ",", "\n"))
        steps = [Step(asked)]
    elif family == "correction":
        steps, wanted = [Step(asked)], new
    elif family == "negation":
        steps, gone = [Step(asked)], (says[0].rstrip("."),)
    elif family == "retraction":
        steps = [Step(asked)]
        if "{thing}" not in text:  # so it speaks of what was said last
            told = [control, Step(says[0])]
    elif family == "older" and number % 2:
        steps, wanted = [Step(spoken.format(v=new)), Step(asked, OLDER_DAY)], new
    else:
        steps = [Step(f"Please forget that {_inner(says[0])}"), _returning(family, asked, number)]
        gone = (old, odd)
    if control not in told:
        told.append(control)
    return TrustCase(name, family, (*told, *steps), fact["ask"], says[0], gone, wanted, kept)


def _returning(family: Family, text: str, number: int) -> Step:
    """Return how a forgotten fact is brought in once more."""
    if family == "lookalike":
        return Step(text)
    if family == "import":
        doors: tuple[Door, ...] = ("vault", "conversation", "write")
        return Step(text, OLDER_DAY, doors[number % 3])
    return Step(text, OLDER_DAY)


def _everything(name: str, text: str, subject: dict[str, Any], rng: random.Random) -> TrustCase:
    fact = rng.choice(read("facts"))
    value = rng.choice(fact["values"])
    said = (*subject["says"], fact["says"][0].format(v=value))
    steps = [*(Step(one, FIRST_DAY) for one in said), Step(text.format(x=subject["x"]))]
    gone = tuple(subject["values"])
    return TrustCase(
        name, "everything", tuple(steps), f"What do you know about {subject['x']}?", " ".join(said[:3]), gone, None,
        {fact["ask"]: value},
    )  # fmt: skip


def disguised(value: str, number: int) -> str:
    """Return a value that looks the same: invisible or look-alike characters, other widths and spaces."""
    middle = max(len(value) // 2, 1)
    wide = "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in value)
    ways = (
        f"{value[:middle]}\u200b{value[middle:]}",
        value.translate(_LOOKALIKES),
        f"{value[:middle]}\u00ad{value[middle:]}",
        wide,
        value.replace(" ", "\u00a0").replace("-", "\u2011") + "\u2060",
    )
    way = ways[number % len(ways)]
    return way if way != value else ways[0]


def rewritten(value: str, number: int) -> str:
    """Return an identifier as somebody else would write it."""
    if "@" in value:
        return (value.upper(), value.replace("@", " at ").replace(".", " dot "), f"<{value}>")[number % 3]
    if value.count("-") == 2:
        return (value.replace("-", " "), "({}) {} {}".format(*value.split("-")), value.replace("-", ""))[
            number % 3
        ]
    if "-" in value:
        return (value.lower(), value.replace("-", " "), value.replace("-", ""))[number % 3]
    return (f"'{value}'", f"{value}!", f"the {value}")[number % 3]


def _inner(statement: str) -> str:
    """Return a statement as it stands inside a sentence."""
    is_small = statement.split(" ", 1)[0] in ("My", "The", "At", "We", "You", "Mail", "Write")
    return statement[0].lower() + statement[1:] if is_small else statement
