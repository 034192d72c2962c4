"""Known dirt, and as many look-alikes that must stay, put into the pages of a memory."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from importlib.resources import files

from memex.store import links
from memex.subagent.dream.pages import DreamPage, MountState

TODAY = date(2026, 11, 29)
FIRST_DAY = date(2026, 2, 1)

_BULLET = re.compile(r"^- (?!\[)(?P<text>[A-Z\"“][^\[\]`|<>\n]{24,140}[.!])$", re.MULTILINE)
_NUMBER = re.compile(r"\d+")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}")
_VERB = re.compile(r"\b(is|are|was|has|have|likes|lives|can|must|will)\b")
# A property with two values, and two things that are none of it.
KEYS = (
    ("I live in {}.", "Lisbon", "Porto", "My brother lives in {}."),
    ("My phone number is {}.", "0171 555", "0171 777", "My mother's phone number is {}."),
    ("My favourite colour is {}.", "green", "blue", "Tom's favourite colour is {}."),
    ("I work at {}.", "Acme", "Globex", "I worked with people from {}."),
    ("My birthday is on {}.", "4 May", "5 May", "Ada's birthday is on {}."),
    ("My name is {}.", "Jon", "Jonathan", "My dog's name is {}."),
    ("I prefer {} for editing text.", "Vim", "Emacs", "Tom prefers {} for editing text."),
    ("My timezone is {}.", "CET", "WET", "The office's timezone is {}."),
)
TASKS = (
    ("renew the passport at the town hall", "renew the passport of Ada at the town hall"),
    ("send the signed contract to Globex", "send the signed contract to Acme"),
    ("replace the filter of the boiler", "replace the filter of the boiler every month"),
    ("order 4 chairs for the meeting room", "order 6 chairs for the meeting room"),
    ("write the summary for the board", "write the summary for the team"),
    ("cancel the old phone contract", "do not cancel the old phone contract"),
)


@dataclass
class DirtyMemory:
    """A memory with dirt: `dirt` and `look_alikes` are the lines that were put in, by the kind of what they are.

    Of dirt, each item holds the lines of which one should change.
    """

    texts: dict[str, str]
    moved: dict[str, str] = field(default_factory=dict)
    dirt: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)
    look_alikes: dict[str, list[str]] = field(default_factory=dict)

    def put(self, path: str, line: str) -> None:
        """Add a line at the end of a page."""
        text = self.texts.get(path, "")
        self.texts[path] = f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{line}\n"

    def put_below(self, path: str, heading: str, line: str) -> None:
        """Add a line below a heading of a page, which is added where it is missing."""
        if heading and f"\n## {heading}\n" in self.texts.get(path, ""):
            self.texts[path] = self.texts[path].replace(f"## {heading}\n", f"## {heading}\n\n{line}", 1)
            self.texts[path] = self.texts[path].replace(f"{line}\n\n", f"{line}\n", 1)
            return
        if heading:
            self.put(path, f"\n## {heading}\n")
        self.put(path, line)

    def move(self, old: str, new: str) -> None:
        """Note that a file was moved."""
        for key in links.path_keys(old):
            self.moved[key] = f"user/{new}"

    def state(self) -> MountState:
        """Return the mount."""
        pages = {path: DreamPage(path, 1, text) for path, text in sorted(self.texts.items())}
        return MountState("user", 1, pages, TODAY, moved=self.moved)


def soil(texts: dict[str, str], rnd: random.Random, *, most: int = 12) -> DirtyMemory:
    """Return a memory with duplicates, two values of a key, tasks that are done elsewhere, and moved links."""
    memory = DirtyMemory(dict(texts))
    _duplicate(memory, rnd, most)
    _add_keys(memory, rnd)
    _add_tasks(memory, rnd)
    _move_pages(memory, rnd, most)
    return memory


def soil_by_hand(texts: dict[str, str]) -> DirtyMemory:
    """Return a memory with the dirt and the look-alikes of `by_hand.txt`."""
    memory = DirtyMemory(dict(texts))
    written = (files("memex.evals.dream") / "by_hand.txt").read_text(encoding="utf-8")
    for block in written.strip().split("\n\n"):
        kind, *rows = block.splitlines()
        if kind.startswith("#"):
            continue
        going = []
        for row in rows:
            place, _, line = row.partition(" | ")
            if place in ("moved", "exists"):
                old, _, new = line.rpartition(" > ")
                memory.put(f"user/{new}", f"# {new.rpartition('/')[2].removesuffix('.md').capitalize()}")
                if old:
                    memory.move(old, new)
                continue
            path, _, heading = place.removeprefix("*").partition("#")
            memory.put_below(f"user/{path}", heading, line)
            if place.startswith("*"):
                going.append(line)
            else:
                memory.look_alikes.setdefault(kind, []).append(line)
        if going:
            memory.dirt.setdefault(kind, []).append(tuple(going))
    return memory


def _note(memory: DirtyMemory, kind: str, line: str, *, is_dirt: bool) -> None:
    if is_dirt:
        memory.dirt.setdefault(kind, []).append((line,))
    else:
        memory.look_alikes.setdefault(kind, []).append(line)


def _duplicate(memory: DirtyMemory, rnd: random.Random, most: int) -> None:
    """Say statements twice in their lists, and some with a day in two pages of memory."""
    found = [
        (path, match["text"])
        for path, text in sorted(memory.texts.items())
        for match in _BULLET.finditer(text)
    ]
    whole = "\n".join(memory.texts.values())
    found = [(path, text) for path, text in found if whole.count(text) == 1]
    for number, (path, text) in enumerate(rnd.sample(found, min(most, len(found)))):
        written = rnd.choice((text, text.rstrip(".!"), f"{text[:-1]}!"))
        others = list(_look_alikes(text))[:1]
        if number % 3 == 0:
            day = FIRST_DAY + timedelta(days=rnd.randrange(90))
            memory.put("user/notes.md", f"- {text} ({day})")
            memory.put("user/notes-2.md", f"- {written} ({day})")
            _note(memory, "duplicate", f"- {written} ({day})", is_dirt=True)
            for other in others:
                memory.put("user/notes-2.md", f"- {other} ({day})")
                _note(memory, "duplicate", f"- {other} ({day})", is_dirt=False)
            continue
        more = "".join(f"- {one}\n" for one in (written, *others))
        memory.texts[path] = memory.texts[path].replace(f"- {text}\n", f"- {text}\n{more}", 1)
        if f"- {written}\n" in memory.texts[path]:
            _note(memory, "duplicate", f"- {written}", is_dirt=True)
            for other in others:
                _note(memory, "duplicate", f"- {other}", is_dirt=False)


def _look_alikes(text: str) -> Iterator[str]:
    """Yield the text with another number, another name, or a negation."""
    if number := _NUMBER.search(text):
        yield f"{text[: number.start()]}{int(number[0]) + 1}{text[number.end() :]}"
    if name := _NAME.search(text):
        yield f"{text[: name.start()]}Wilhelmina{text[name.end() :]}"
    if verb := _VERB.search(text):
        yield f"{text[: verb.end()]} not{text[verb.end() :]}"


def _add_keys(memory: DirtyMemory, rnd: random.Random) -> None:
    for sentence, old, new, other in rnd.sample(KEYS, 5):
        day = FIRST_DAY + timedelta(days=rnd.randrange(90))
        line = f"- {sentence.format(old)} ({day})"
        memory.put("user/profile.md", line)
        _note(memory, "superseded", line, is_dirt=True)
        later = day + timedelta(days=30)
        memory.put("user/profile-2.md", f"- {sentence.format(new)} ({later})")
        near = f"- {other.format(old)} ({day})"
        memory.put("user/profile.md", near)
        _note(memory, "superseded", near, is_dirt=False)


def _add_tasks(memory: DirtyMemory, rnd: random.Random) -> None:
    for task, other in rnd.sample(TASKS, 4):
        day = FIRST_DAY + timedelta(days=rnd.randrange(90))
        line, near = f"- [ ] {task} ({day})", f"- [ ] {other} ({day})"
        memory.put("user/tasks.md", line)
        memory.put("user/tasks.md", near)
        memory.put("user/log/done.md", f"- [x] {task} ({day + timedelta(days=9)})")
        _note(memory, "task_done", line, is_dirt=True)
        _note(memory, "task_done", near, is_dirt=False)


def _move_pages(memory: DirtyMemory, rnd: random.Random, most: int) -> None:
    """Move pages that others link to, and note the lines whose links lead nowhere then."""
    keys: dict[str, set[str]] = {}
    for path in memory.texts:
        relative = path.removeprefix("user/")
        for key in links.path_keys(relative):
            keys.setdefault(key, set()).add(path)
    linked: dict[str, list[tuple[str, str]]] = {}
    for path, text in sorted(memory.texts.items()):
        for link in links.parse(text, path.removeprefix("user/")):
            targets = {one for key in link.targets[:1] for one in keys.get(key, ())}
            line = text[text.rfind("\n", 0, link.start) + 1 : (text + "\n").find("\n", link.start)]
            if len(targets) == 1 and line.count(link.raw) == 1 and len(link.targets) == 1:
                linked.setdefault(targets.pop(), []).append((path, line))
    for target in rnd.sample(sorted(linked), min(most, len(linked))):
        stem = target.rpartition("/")[2].removesuffix(".md")
        place = f"user/moved/{stem}-now.md"
        memory.texts[place] = memory.texts.pop(target)
        memory.move(target.removeprefix("user/"), place.removeprefix("user/"))
        for path, line in linked[target]:
            if path != target and path in memory.texts:
                _note(memory, "moved_link", line, is_dirt=True)
