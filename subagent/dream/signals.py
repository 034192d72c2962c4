"""Signals: what of a mount may be tidied, found by code alone. What is certain has an edit; the rest is listed."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import combinations, pairwise
from typing import Literal

from memex.store import links
from memex.store.citations.syntax import is_citation_key
from memex.store.paths import parse
from memex.store.search.analyzer import Analyzer
from memex.subagent.dream.pages import DreamPage, MountState, PageLine, UnfiledEntry
from memex.subagent.remember.filing.entries import entry_subject
from memex.subagent.remember.reading import is_sure
from memex.subagent.statements.comparison.asides import comes_again
from memex.subagent.statements.comparison.holders import is_of_another
from memex.subagent.statements.comparison.putting_right import is_hedged, last_retraction
from memex.subagent.statements.comparison.relations import compare, decide
from memex.subagent.statements.comparison.remains import find_echoes
from memex.subagent.statements.comparison.values import values_of
from memex.subagent.statements.comparison.views import view
from memex.subagent.statements.extraction import Statement, extract_statements
from memex.subagent.statements.language import StatementKind
from memex.subagent.statements.others_words import without_others_words
from memex.subagent.statements.paraphrase import paraphrase_form
from memex.subagent.statements.places import destination, is_statement_file, stands_for_kind
from memex.subagent.statements.storable import extract_storable
from memex.subagent.statements.subjects import claim_of, is_replaceable, normal_form, subject_of
from memex.subagent.work.policies import POLICY_FILE

EditedKind = Literal[
    "duplicate", "superseded", "task_done", "archive", "moved_link", "link", "split", "journal"
]
ListedKind = Literal[
    "contradiction", "said_again", "open_long", "expired", "broken_link", "look_alike", "orphan", "long_page"
]
SignalKind = EditedKind | ListedKind
MAX_PAGE_CHARS = 24_000
LEAST_SECTION_CHARS = 300  # of a section that becomes a page
MAX_FILES = 20  # of one proposal
OPEN_LONG = timedelta(days=90)
DONE_LONG = timedelta(days=90)
LEAST_WORDS = 3  # of a statement that can be a duplicate: less is a fragment, such as an item to buy
LIST_WORDS = 5  # of a line without a day that stands in one list twice
OWN_WORDS = 6  # of a statement with a name or a number, which says by itself what it is about
TASK_WORDS = 3  # of a task without a day that is certainly another one's
MAX_BUCKET = 40  # statements that are compared with each other
MAX_NAME_CHARS = 40
MAX_TITLES = 2_000  # that are compared as look-alikes

# Folders whose pages are about one person each.
_PEOPLE = frozenset(
    ("people", "persons", "contacts", "family", "friends", "team", "personen", "kontakte", "personnes")
)
_STATES: frozenset[StatementKind] = frozenset(
    {"preference", "profile", "decision", "constraint", "objective", "definition_of_done"}
)
_WORD = re.compile(r"\w+")
_LETTER = re.compile(r"[^\W\d_]")
_PRONOUN = re.compile(
    r"(?:he|she|it|they|his|her|its|their|this|that|these|those|er|sie|es|il|elle|él|ella)\b", re.IGNORECASE
)
# Links and pictures that mean something else, or nothing, in a page of another folder.
_LEADS_FROM_HERE = re.compile(
    r"\]\((?!<?(?:https?://|mailto:))|\[\[#|(?:href|src)\s*=(?!\s*[\"']?(?:https?://|mailto:))", re.IGNORECASE
)
_UNTIL = re.compile(r"\b(?:until|till|bis|jusqu'au|hasta)\b[^()]{0,40}\((\d{4}-\d\d-\d\d)\)", re.IGNORECASE)
_RELATIVE = re.compile(
    r"\b(?:today|tomorrow|yesterday|tonight|heute|morgen|gestern|hoy|ayer|mañana|hier|demain)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Signal:
    """Something that may be tidied.

    Attributes:
        kind: what it is.
        lines: where it stands; of edits, the line that stays or comes first.
        places: the same for what is no line: references or paths.
        note: what it says beside the lines.
        link: a link as it is written, and the path that it should lead to.
        statement: of the journal, that no page holds.
        entry: the entry that says it.
    """

    kind: SignalKind
    lines: tuple[PageLine, ...] = ()
    places: tuple[str, ...] = ()
    note: str = ""
    link: tuple[str, str] = ("", "")
    statement: Statement | None = None
    entry: UnfiledEntry | None = field(default=None, compare=False)

    @property
    def references(self) -> list[str]:
        """The places of its lines."""
        return [*(line.reference for line in self.lines), *self.places]

    @property
    def texts(self) -> list[str]:
        """The texts of its lines."""
        return [line.text for line in self.lines]


def find_signals(state: MountState, analyzer: Analyzer) -> list[Signal]:
    """Return what may be tidied in a mount, edits first, in an order that the state alone decides."""
    found: list[Signal] = []
    found += _duplicates(state)
    found += _superseded(state, analyzer)
    found += _tasks(state)
    found += _archived(state)
    found += _broken_links(state)
    found += _journal(state, analyzer)
    found += _long_pages(state)
    found += _names(state)
    found += _look_alikes(state)
    found += _orphans(state)
    return found


def count_signals(signals: Iterable[Signal]) -> dict[str, int]:
    """Return how many signals there are of each kind."""
    return dict(Counter(signal.kind for signal in signals))


def _grouped(lines: Iterable[PageLine], key: Callable[[PageLine], Hashable]) -> Iterator[list[PageLine]]:
    groups: defaultdict[Hashable, list[PageLine]] = defaultdict(list)
    for line in lines:
        groups[key(line)].append(line)
    yield from (group for group in groups.values() if len(group) > 1)


def _duplicates(state: MountState) -> Iterator[Signal]:
    """Yield statements that stand several times: the one that stays first."""
    candidates = [
        line for line in state.lines if not (line.is_listed or line.is_nested) and _is_statement(line)
    ]
    for same in _grouped(candidates, lambda line: (line.literal, line.is_done, line.due)):
        groups = list(_in_one_context(state, same))
        memory = [line for line in same if is_statement_file(line.path)]
        if memory and not groups and state.is_new(*(line.path for line in same)):
            yield Signal("said_again", tuple(same), note="said on several pages")
        for group in groups:
            days = {line.day for line in group} - {None}
            if not state.is_new(*(line.path for line in group)):
                continue
            if len(days) > 1 and not any(line.kind in _STATES or line.is_open for line in group):
                yield Signal("said_again", tuple(group), note="said on several days")
                continue
            if _RELATIVE.search(group[0].text) and (
                len(days) != 1 or any(line.day is None for line in group)
            ):
                continue
            yield Signal("duplicate", tuple(sorted(group, key=lambda line: _staying(state, line))))


def _is_statement(line: PageLine) -> bool:
    return len([word for word in line.form if _LETTER.search(word)]) >= LEAST_WORDS


def _in_one_context(state: MountState, lines: Sequence[PageLine]) -> Iterator[list[PageLine]]:
    """Yield those of equal lines that say the same where they stand."""
    memory = [line for line in lines if line.day or is_statement_file(line.path)]
    is_one_telling = len({line.day for line in lines} - {None}) == 1 and len(lines[0].form) >= LIST_WORDS
    own = [line for line in memory if says_by_itself(state, line, may_refer=is_one_telling)]
    if len(own) > 1:
        yield own
    rest = [line for line in lines if line not in own and (line.day or len(line.form) >= LIST_WORDS)]
    beside = _grouped([*own[:1], *rest] if len(own) == 1 else rest, lambda line: (line.path, line.heading))
    yield from beside


def says_by_itself(state: MountState, line: PageLine, *, may_refer: bool = False) -> bool:
    """Return whether a line says by itself what it is about, and not by its page or its heading.

    With `may_refer` it may begin with a word such as `it`: what was said on one day twice is one telling.
    """
    words = set(_WORD.findall(line.text.casefold()))
    if _PRONOUN.match(line.text) and not may_refer:
        return False
    is_own = line.text[:1].isupper() and len(line.form) >= OWN_WORDS and bool(values_of(line.text))
    if not (is_own or _is_below_no_topic(state, line)):
        return False
    if is_statement_file(line.path) or is_own:
        return True
    stem = _words(state.pages[line.path].stem)
    return bool(stem) and words.issuperset(stem)


def _is_below_no_topic(state: MountState, line: PageLine) -> bool:
    """Return whether the heading of a line says nothing that the line does not say, such as a kind or a day."""
    is_general = stands_for_kind(line.heading) or line.heading == state.pages[line.path].title
    return is_general or set(_WORD.findall(line.text.casefold())).issuperset(_words(line.heading))


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.casefold()) if _LETTER.search(word)]


def _staying(state: MountState, line: PageLine) -> tuple[bool, bool, date, str, int]:
    """Return what lines that say the same are ordered by: the page of their kind first, then the oldest."""
    found = extract_statements(line.text).statements
    kind: StatementKind = found[0].kind if found else "note"
    home = destination(kind, state.project, line.text).path.removesuffix(".md")
    is_sure_kind = kind != "note"
    is_at_home = re.fullmatch(rf"{re.escape(home)}(?:-\d+)?\.md", line.path) is not None
    is_apart = not is_at_home if is_sure_kind else line.kind not in _STATES
    return is_apart, line.day is None, line.day or date.max, line.path, line.start


def _superseded(state: MountState, analyzer: Analyzer) -> Iterator[Signal]:
    """Yield two values of one key: the newer line first; where it is not sure which holds, as a contradiction."""
    lines = [line for line in state.lines if is_statement_file(line.path) and line.kind in (*_STATES, "note")]
    seen: set[tuple[str, str]] = set()
    keyed = _grouped([line for line in lines if line.subject], lambda line: line.subject)
    framed = _grouped([line for line in lines if not line.subject], lambda line: (line.kind, line.form[:3]))
    ending = _grouped([line for line in lines if not line.subject], lambda line: (line.kind, line.form[-3:]))
    gone: set[str] = set()
    for group in (*keyed, *framed, *ending):
        for one, other in combinations(group[:MAX_BUCKET], 2):
            newer, older = (one, other) if (one.day or date.min) >= (other.day or date.min) else (other, one)
            pair = newer.reference, older.reference
            if pair in seen or newer.form == older.form or not state.is_new(newer.path, older.path):
                continue
            seen.add(pair)
            verdict = _verdict(newer, older, analyzer)
            is_dated = newer.day is not None and older.day is not None and newer.day > older.day
            if verdict == "replaces" and is_dated and gone.isdisjoint(pair):
                gone.add(older.reference)
                yield Signal("superseded", (newer, older))
            elif verdict is not None and gone.isdisjoint(pair):
                yield Signal("contradiction", (newer, older), note="nothing says for certain which one holds")


def _verdict(newer: PageLine, older: PageLine, analyzer: Analyzer) -> Literal["replaces", "rival"] | None:
    """Return whether a line takes the place of another one, or may contradict it."""
    new, old = view(newer.text, newer.kind, analyzer), view(older.text, older.kind, analyzer)
    is_denial = claim_of(normal_form(newer.text))[1] != claim_of(normal_form(older.text))[1]
    if newer.subject is not None and newer.subject == older.subject:
        if is_of_another(newer.text, older.text):
            return None
        is_sure_one = is_replaceable(older.text) and is_replaceable(newer.text) and not new.is_guarded
        return (
            "replaces"
            if is_sure_one and not is_denial and not old.is_guarded and not new.is_added
            else "rival"
        )
    found = decide(new, [compare(new, old, {})])
    return None if found is None or found.outcome == "closes" else "rival"


def _tasks(state: MountState) -> Iterator[Signal]:
    """Yield open tasks: those that are done elsewhere, with the line that says so first, and old ones."""
    done: defaultdict[str, list[PageLine]] = defaultdict(list)
    for line in state.lines:
        if _says_done(line) and (task := task_key(line)):
            done[task].append(line)
    for line in state.lines:
        if not line.is_open or line.is_nested:
            continue
        ends = [end for end in done.get(task_key(line) or "", ()) if is_done_by(state, line, end)]
        if ends and state.is_new(line.path, *(end.path for end in ends)):
            yield Signal("task_done", (min(ends, key=lambda end: (end.day or date.max, end.path)), line))
            continue
        is_late = line.due is not None and line.due < state.today
        until = _UNTIL.search(line.text)
        if is_late or (until and until[1] < state.today.isoformat()):
            yield Signal("expired", (line,), note=f"was due on {line.due}" if is_late else "its day is over")
        elif line.day is not None and state.today - line.day > OPEN_LONG:
            yield Signal("open_long", (line,), note=f"open for {(state.today - line.day).days} days")
    for line in state.lines:
        until = _UNTIL.search(line.text) if not line.is_open else None
        if until and until[1] < state.today.isoformat():
            yield Signal("expired", (line,), note=f"held until {until[1]}")


def _says_done(line: PageLine) -> bool:
    """Return whether a line says that a task is done: by its place, or a statement of memory by its words."""
    if line.is_done or line.box is not None or line.day is None or not is_statement_file(line.path):
        return line.is_done
    said = extract_statements(line.text).statements
    return len(said) == 1 and said[0].kind == "done" and is_sure(said[0], None) and not is_hedged(line.text)


def task_key(line: PageLine) -> str | None:
    """Return what task a line is about, whether it is done or not."""
    return subject_of("pending", line.text)


def is_done_by(state: MountState, task: PageLine, end: PageLine) -> bool:
    """Return whether a line says for certain that a task is done: the same one of the same person, and no older."""
    if not _says_done(end) or task_key(end) != task_key(task) or not _is_of_one_person(state, task, end):
        return False
    if end.due != task.due and None not in (end.due, task.due):
        return False
    if comes_again(normal_form(task.text)) or comes_again(normal_form(end.text)):
        return False
    if task.day is not None:
        return end.day is not None and end.day >= task.day
    is_clear = len(task.form) >= TASK_WORDS and end.box is not None
    return is_clear and (says_by_itself(state, task) or len(task.form) > TASK_WORDS)


def _is_of_one_person(state: MountState, task: PageLine, end: PageLine) -> bool:
    """Return whether two lines stand in one list, or where neither page nor heading gives a task to somebody."""
    if (task.path, task.heading) == (end.path, end.heading):
        return True
    return all(
        _is_below_no_topic(state, line) and _PEOPLE.isdisjoint(line.path.split("/")) for line in (task, end)
    )


def _archived(state: MountState) -> Iterator[Signal]:
    """Yield tasks of a page of tasks that were done long ago, by their page."""
    for page in state.pages.values():
        name = page.path.rpartition("/")[2]
        if not (page.done_before and is_statement_file(page.path) and name.startswith("tasks")):
            continue
        old = tuple(line for line in page.lines if line.box in ("x", "X") and line.raw in page.done_before)
        if old and len({line.raw for line in old}) == len(old):
            yield Signal("archive", old)


def _broken_links(state: MountState) -> Iterator[Signal]:
    """Yield links that lead nowhere; those whose file stands elsewhere now with that place."""
    keys = set(state.known_keys)
    for path in state.pages:
        relative = parse(path).relative
        keys |= {*links.path_keys(relative), links.key(path)}
    for page in state.pages.values():
        for link in unresolved(page, keys):
            places = {state.moved[key] for key in link.targets if key in state.moved}
            reference = f"{page.path}@{page.version}:{link.start}-{link.end}"
            if len(places) == 1 and (place := places.pop()) in state.pages:
                yield Signal("moved_link", places=(reference, place), link=(link.raw, place))
            else:
                yield Signal("broken_link", places=(reference,), note=link.raw)


def unresolved(page: DreamPage, keys: frozenset[str] | set[str]) -> list[links.ParsedLink]:
    """Return the links of a page whose targets have none of these keys."""
    found = links.parse(page.text, parse(page.path).relative, page.document)
    return [
        link
        for link in found
        if not any(key in keys or is_citation_key(key.partition("#")[0]) for key in link.targets)
        and not any(
            key.startswith(("conversations/", "user/", "shared/", "projects/")) for key in link.targets
        )
    ]


def _long_pages(state: MountState) -> Iterator[Signal]:
    for page in state.pages.values():
        if len(page.text) > MAX_PAGE_CHARS:
            note = f"{len(page.text):,} characters"
            kind: SignalKind = "split" if _can_be_split(state, page) else "long_page"
            yield Signal(kind, places=(page.path,), note=note)


def _can_be_split(state: MountState, page: DreamPage) -> bool:
    """Return whether sections of a page can become pages in one proposal, and all links lead where they did."""
    starts = [heading.start for heading in page.document.headings if heading.level == 2]
    is_plain = not (page.has_front_matter or page.has_definitions or _LEADS_FROM_HERE.search(page.text))
    sections = sum(end - start >= LEAST_SECTION_CHARS for start, end in pairwise([*starts, len(page.text)]))
    is_long = 1 < sections < MAX_FILES and not is_statement_file(page.path)
    return is_plain and is_long and not _is_linked_inside(state, page)


def _is_linked_inside(state: MountState, page: DreamPage) -> bool:
    """Return whether a link of the mount leads to a place that would move with its section.

    Headings of level 2 stay, with a link to their section.
    """
    stay = {links.key(heading.title) for heading in page.document.headings if heading.level <= 2}
    keys = {*links.path_keys(parse(page.path).relative), links.key(page.path)}
    return any(
        link.anchor and not keys.isdisjoint(link.targets) and links.key(link.anchor) not in stay
        for other in state.pages.values()
        if not keys.isdisjoint(other.link_keys)
        for link in links.parse(other.text, parse(other.path).relative, other.document)
    )


def _names(state: MountState) -> Iterator[Signal]:
    """Yield the first line of each page that says the name of another page, and does not link to it.

    A title of which a word stands in small letters anywhere, such as `Keyboard Shortcuts`, is no name.
    """
    names = {page.title: page for page in state.pages.values() if _is_name(page)}
    if not names:
        return
    titles = Counter(page.title for page in state.pages.values())
    lower = {word for page in state.pages.values() for word in _WORD.findall(page.text) if word.islower()}
    usable = {
        name: page
        for name, page in names.items()
        if titles[name] == 1 and lower.isdisjoint(word.casefold() for word in _WORD.findall(name))
    }
    if not usable:
        return
    pattern = re.compile(
        r"(?<![\w\[|/#@-])("
        + "|".join(map(re.escape, sorted(usable, key=len, reverse=True)))
        + r")(?![\w\]-])"
    )
    for page in state.pages.values():
        linked = set(page.link_keys)
        for line in page.lines:
            for name in dict.fromkeys(pattern.findall(line.text)):
                named = usable[name]
                keys = {*links.path_keys(parse(named.path).relative), links.key(named.path)}
                if named.path == page.path or not keys.isdisjoint(linked):
                    continue
                linked |= keys
                if state.is_new(page.path, named.path):
                    yield Signal("link", (line,), (named.path,), note=name, link=(name, named.path))


def _is_name(page: DreamPage) -> bool:
    """Return whether the title of a page is a name that other pages may say."""
    title, words = page.title, page.title.split()
    return (
        not is_statement_file(page.path)
        and 2 < len(title) <= MAX_NAME_CHARS
        and len(words) <= 4
        and all(word[0].isupper() and _LETTER.match(word) for word in words)
        and not stands_for_kind(title)
        and links.key(title) in (links.key(page.stem), *links.path_keys(parse(page.path).relative))
    )


def _look_alikes(state: MountState) -> Iterator[Signal]:
    """Yield pages whose names differ by a letter or two."""
    named: defaultdict[str, list[DreamPage]] = defaultdict(list)
    for page in list(state.pages.values())[:MAX_TITLES]:
        if len(page.stem) >= 5 and not any(map(str.isdigit, page.stem)) and not is_statement_file(page.path):
            for at in range(len(page.stem) + 1):
                folded = page.stem.casefold()
                named[folded[:at] + folded[at + 1 :]].append(page)
    seen = set()
    for group in named.values():
        for one, other in combinations(dict.fromkeys(group), 2):
            pair = one.path, other.path
            if pair not in seen and state.is_new(*pair):
                seen.add(pair)
                yield Signal("look_alike", places=pair, note=f"{one.stem} and {other.stem}")


def _orphans(state: MountState) -> Iterator[Signal]:
    """Yield pages that no page links to and that link to none, where most pages are linked."""
    ends: set[str] = set()
    sources = set()
    for page in state.pages.values():
        targets = page.link_keys
        ends |= targets
        if targets:
            sources.add(page.path)
    alone = [
        page
        for page in state.pages.values()
        if page.path not in sources
        and ends.isdisjoint({*links.path_keys(parse(page.path).relative), links.key(page.path)})
        and not is_statement_file(page.path)
        and not page.path.endswith(f"/{POLICY_FILE}")
    ]
    if len(alone) * 2 < len(state.pages):
        yield from (Signal("orphan", places=(page.path,)) for page in alone if state.is_new(page.path))


def _journal(state: MountState, analyzer: Analyzer) -> Iterator[Signal]:
    """Yield sure statements of the journal that no page ever said; of two about one subject, what was said last."""
    subjects: set[str | None] = {line.subject for line in state.lines if line.subject}
    told: set[tuple[str, ...]] = set()
    for entry in sorted(state.entries, key=lambda entry: entry.said_at, reverse=True):
        if find_echoes(entry.text, state.tombstones, analyzer):
            continue
        found = []
        for statement in reversed(_sure_statements(entry, analyzer)):
            subject = entry_subject(statement.kind, statement.text, normal_form(statement.text))
            form = paraphrase_form(statement.text)
            if form in told or (subject and subject in subjects) or state.ever_said(statement.text):
                continue
            told.add(form)
            subjects.add(subject)
            reference = f"{entry.path}@{entry.version}:{statement.start}-{statement.end}"
            found.append(
                Signal("journal", places=(reference,), note=statement.text, statement=statement, entry=entry)
            )
        yield from reversed(found)


def _sure_statements(entry: UnfiledEntry, analyzer: Analyzer) -> list[Statement]:
    """Return what an entry says for certain, does not take back, and that holds longer than a task."""
    try:
        reading = extract_storable(entry.text, entry.said_at.date())
    except Exception:  # noqa: BLE001  # a text that is too long to remember stays where it is
        return []
    taken_back = last_retraction(entry.text)
    return [
        statement
        for statement in without_others_words(entry.text, reading).statements
        if is_sure(statement, None)
        and statement.kind not in ("pending", "done", "blocker")  # what was to do may be done by now
        and statement.start > taken_back
        and not is_hedged(statement.text)
        and not view(statement.text, statement.kind, analyzer).is_guarded
    ]
