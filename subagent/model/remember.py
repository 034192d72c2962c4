"""The remember agent: a model proposes typed edits of the memory, code judges them and makes them a plan.

The model has no tool that writes. It is asked once for each part of a text; what it stages for one part it sees
with the next. A failure with any part is a failure with all.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from memex.store.records import Span
from memex.store.text_pool import offload
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.limits import ModelFailure, model_unavailable
from memex.subagent.memory_tools import FileCatalogue
from memex.subagent.model.ask import ModelQuestion, ModelSession, ModelTool, ask
from memex.subagent.model.data_blocks import wrap_data
from memex.subagent.model.edits import (
    MAX_CHECKED,
    MAX_PROBLEMS,
    AcceptedEdit,
    EditChecker,
    Edits,
    RejectedEdit,
    Skip,
)
from memex.subagent.model.grounding import Grounding
from memex.subagent.model.nearest import NearestStatements, NumberedStatements
from memex.subagent.model.non_statements import NonStatements
from memex.subagent.model.quotes import QuoteFinder
from memex.subagent.model.rivals import (
    EditsAndVerdicts,
    JudgedChanges,
    JudgedRival,
    ProbableRival,
    ShownRivals,
    find_rivals,
)
from memex.subagent.model.windows import split_windows
from memex.subagent.planner import (
    Addition,
    FiledStatement,
    KnownStatement,
    RememberPlan,
    RememberRequest,
    Removal,
)
from memex.subagent.prompts import Prompt
from memex.subagent.remember.file_series import FileSeries
from memex.subagent.remember.filing.entries import SAME_TASK
from memex.subagent.remember.forgetting import MAX_CANDIDATES, MAX_REMOVED
from memex.subagent.remember.related import find_related
from memex.subagent.remember.stage import find_replacements
from memex.subagent.statements.bullets import UNDATED, render_bullet
from memex.subagent.statements.days.dating import with_dates
from memex.subagent.statements.extraction import (
    SkippedSpan,
    SkipReason,
    Statement,
)
from memex.subagent.statements.language import STATEMENT_KINDS
from memex.subagent.statements.paraphrase import paraphrase_form
from memex.subagent.statements.places import destination, is_statement_file, mount_of
from memex.subagent.statements.subjects import is_replaceable, subject_of

PROMPT_CHARS = 12_000  # of a prompt with its instructions, without the text itself
CATALOGUE_CHARS = 1_500
WINDOW_CHARS = 12_000  # of a text that is read at once
MAX_WINDOW_CHARS = 60_000  # where the limit of requests asks for fewer and longer parts
MAX_QUERIES_PER_PART = 12  # by which the memory is searched for a part of the text
MAX_QUERIES = 100  # for the whole text
MAX_COMPARED = (
    50  # statements of the whole text that are compared with what is stored before the model is asked
)
CONTRADICTED = "\n\n# What the text may contradict\n\n"
RIVALS_CHARS = 1_500  # of the list of what a part may contradict
RESULT_CHARS = 4_000  # of what a search gives back
# Edits of an answer that are looked at: some for each that may be written, since some are refused, and some more.
CHECKED_PER_WRITE = 4
CHECKED = 100


async def plan_remember(
    request: RememberRequest,
    builtin: BuiltinPlanner,
    prompt: Prompt,
    session: ModelSession,
    *,
    with_tools: bool,
) -> RememberPlan:
    """Return what a model would store of a text, as far as code can carry it out.

    Args:
        request: the text.
        builtin: the built-in planner, whose analyzer compares texts.
        prompt: with the instructions.
        session: the session of the model.
        with_tools: it may search for more, where the text is read at once.

    Raises:
        ModelUnavailable: it gave no answer for a part of the text, or nothing of its answers can be carried out.
    """
    spans = _parts(request.text, session)
    below = ("user/", *([f"projects/{request.project}/"] if request.project is not None else []))
    files = await session.tools.catalogue(max_chars=CATALOGUE_CHARS, below=below)
    queries = min(MAX_QUERIES_PER_PART, max(1, MAX_QUERIES // len(spans)))
    reader = _Reader(
        request=request,
        builtin=builtin,
        prompt=prompt,
        session=session,
        files=files,
        nearest=NearestStatements(request.project, files.dates, session.tools, builtin.analyzer, queries),
        quotes=QuoteFinder(request.text),
        non_statements=await offload.run_in_thread(len(request.text), NonStatements.of, request.text),
        parts=len(spans),
    )
    for part, span in enumerate(spans, start=1):
        await reader.read(span, part, with_tools=with_tools and len(spans) == 1)
    return await reader.plan()


@dataclass(slots=True)
class _Reader:
    """A call while its text is read part by part.

    Attributes:
        request, builtin, prompt, session: as of `plan_remember`.
        files: the list of the files.
        nearest: finds stored statements.
        quotes: the text.
        non_statements: the parts of the text that state nothing.
        parts: the number of parts in which the text is read.
        accepted: the edits so far, in their order.
        known: the statements that memory holds already.
        skipped: what is not stored.
        found: the stored statements that were near to any part.
        judged: the stored statements that the text may contradict, with what the model says of them.
    """

    request: RememberRequest
    builtin: BuiltinPlanner
    prompt: Prompt
    session: ModelSession
    files: FileCatalogue
    nearest: NearestStatements
    quotes: QuoteFinder
    non_statements: NonStatements
    parts: int
    accepted: list[AcceptedEdit] = field(default_factory=list)
    known: list[KnownStatement] = field(default_factory=list)
    skipped: list[SkippedSpan] = field(default_factory=list)
    found: dict[FiledStatement, None] = field(default_factory=dict)
    judged: list[JudgedRival] = field(default_factory=list)

    async def read(self, span: Span, part: int, *, with_tools: bool) -> None:
        """Ask the model what of a part of the text is stored, and keep what can be carried out."""
        text = self.quotes.text[slice(*span)]
        if not any(map(str.isalnum, text)):
            self.skipped.append(SkippedSpan(*span, "empty"))
            return
        if len(self.accepted) >= self.session.limits.writes:
            self.skipped.append(SkippedSpan(*span, "limit"))
            return
        found = await self.nearest.nearest_to(text)
        self.found |= dict.fromkeys(found)
        checker = await self._edit_checker(span, found)
        rivals = ShownRivals(await self._find_rivals(span, found), checker.notes)
        question = ModelQuestion(
            name="memory_remember",
            prompt=self.prompt,
            text=self._prompt_text(
                text, found, rivals, f"Part {part} of {self.parts}. " if self.parts > 1 else ""
            ),
            output=EditsAndVerdicts if self.prompt.rivals else Edits,
            check=lambda answer: (
                self._problems(answer, checker, rivals) if self._may_correct(self.parts - part) else []
            ),
            tools=[self._search(checker.notes)] if with_tools else (),
            shown=checker.notes.shown,
        )
        answer = await ask(question, self.session)
        self._accept(answer, replace(checker, contested=rivals.contested(answer)))
        fates = rivals.fates(answer)
        self.judged += [JudgedRival(rival, fates.get(rival.key)) for rival in rivals.rivals]

    async def plan(self) -> RememberPlan:
        """Return the plan that all parts of the text make."""
        is_unfit = any(skip.reason == "invalid" for skip in self.skipped)
        if is_unfit and not self.accepted and not self.known:
            raise model_unavailable(ModelFailure.NOTHING_APPLICABLE)
        writes = self.session.limits.writes
        parts = [accepted.part for accepted in self.accepted]
        over = [_skip_statement(part.statement, "limit") for part in parts[writes:] if part.statement]
        day = self.request.day
        new = [_with_dates(part, day) for part in parts[:writes] if isinstance(part, Addition)]
        taken = [part for part in parts[:writes] if isinstance(part, Removal)]
        changes = JudgedChanges.of(self.judged, new, taken, day, self.builtin.analyzer)
        adds, known = await self._place(new, changes)
        removals, withheld = self._limit_removals(self.accepted[:writes])
        unasked = [_skip_statement(edit.part.statement, "forget") for edit in withheld if edit.part.statement]
        return RememberPlan(
            adds=tuple(adds),
            known=(*self.known, *known),
            skipped=tuple(dict.fromkeys([*self.skipped, *over, *unasked])),
            removals=(*removals, *changes.removals),
            rivals=tuple(changes.rivals.values()),
            candidates=tuple(edit.target for edit in withheld if edit.target)[:MAX_CANDIDATES],
            planner=self.session.chat.name,
        )

    async def _find_rivals(self, span: Span, near: Sequence[FiledStatement]) -> list[ProbableRival]:
        """Return what a part of the text probably contradicts; nothing if the prompt asks for no verdicts."""
        if not self.prompt.rivals:
            return []
        most = max(1, MAX_COMPARED // self.parts)
        return await find_rivals(span, self.request, near, self.session.tools, most)

    def _limit_removals(self, accepted: Sequence[AcceptedEdit]) -> tuple[list[Removal], list[AcceptedEdit]]:
        """Return what is taken out, and the edits that are not carried out: the caller is asked about those.

        At most five statements are taken out, of files that `memory_remember` writes; of more, none.
        """
        wanted = [edit for edit in accepted if isinstance(edit.part, Removal)]
        filed = [edit for edit in wanted if edit.target is None or _is_filed(edit.target)]
        kept = filed if len(filed) <= MAX_REMOVED else []
        return [edit.part for edit in kept if isinstance(edit.part, Removal)], [
            edit for edit in wanted if edit not in kept
        ]

    def _problems(self, answer: Edits, checker: EditChecker, rivals: ShownRivals) -> list[str]:
        """Return what is wrong with an answer, in sentences for the model."""
        judging = replace(checker, contested=rivals.contested(answer))
        return [*judging.problems(answer), *rivals.problems(answer)][:MAX_PROBLEMS]

    async def _edit_checker(self, span: Span, found: Sequence[FiledStatement]) -> EditChecker:
        text = self.quotes.text[slice(*span)]
        subjects = ((subject_of(statement.kind, statement.text), statement.text) for statement in found)
        names = [text for subject, text in subjects if subject and subject.startswith("name: ")]
        sources = [text, *names, self.request.project or ""]
        return EditChecker(
            quotes=self.quotes,
            window=span,
            grounding=await offload.run_in_thread(len(text), Grounding.of, sources, self.builtin.analyzer),
            barred=self.non_statements.barred,
            orders=self.non_statements.orders,
            reminders=self.non_statements.reminders,
            project=self.request.project,
            today=self.request.day,
            notes=NumberedStatements(),
            paths=self.files.dates,
            analyzer=self.builtin.analyzer,
            max_checked=min(MAX_CHECKED, CHECKED + CHECKED_PER_WRITE * self.session.limits.writes),
        )

    def _prompt_text(self, text: str, found: Sequence[FiledStatement], rivals: ShownRivals, part: str) -> str:
        """Return the prompt for a part of the text; the sections that change least come first."""
        request = self.request
        day = request.day
        about = f"It is about the project {request.project}. " if request.project is not None else ""
        left = self.session.limits.writes - len(self.accepted)
        call = f"Said on {day.isoformat()}, a {day:%A}. {about}{part}At most {left} edits."
        files = wrap_data("files", self.files.text.rstrip("\n") or "none")
        before = f"# The files that there are\n\n{files}\n\n# What is known already\n\n"
        after = f"\n\n# The call\n\n{call}\n\n# The text\n\n"
        room = (
            PROMPT_CHARS
            - len(self.prompt.instructions)
            - len(before)
            - len(after)
            - len(wrap_data("text", ""))
            - self._rivals_room(rivals)
        )
        near = dict.fromkeys([*self._staged, *(rival.contradiction.older for rival in rivals.rivals), *found])
        known = rivals.notes.show(near, room - len(wrap_data("known", "")))
        contradicted = self._contradicted_text(rivals)
        return (
            f"{before}{wrap_data('known', known or 'nothing')}{contradicted}{after}{wrap_data('text', text)}"
        )

    def _contradicted_text(self, rivals: ShownRivals) -> str:
        """Return the section on what the text may contradict; empty if nothing of that was shown."""
        lines = rivals.lines(RIVALS_CHARS)
        return f"{CONTRADICTED}{self.prompt.rivals}\n\n{wrap_data('rivals', lines)}" if lines else ""

    def _rivals_room(self, rivals: ShownRivals) -> int:
        """Return how long the section on what the text may contradict can be."""
        if not rivals.rivals:
            return 0
        frame = len(CONTRADICTED) + len(self.prompt.rivals) + len(wrap_data("rivals", "")) + 2
        return frame + min(RIVALS_CHARS, rivals.max_chars)

    @property
    def _staged(self) -> dict[FiledStatement, AcceptedEdit]:
        """The edits accepted in earlier parts of the text, by their statements, the last part first."""
        return {
            FiledStatement(
                accepted.part.path,
                accepted.part.statement.text,
                accepted.part.statement.kind,
                UNDATED,
                heading=accepted.part.heading,
            ): accepted
            for accepted in reversed(self.accepted)
            if isinstance(accepted.part, Addition)
        }

    def _may_correct(self, parts_left: int) -> bool:
        """Return whether a request is to spare for an answer that has to be mended."""
        meter = self.session.meter
        return meter.limits.requests - meter.reserved - meter.requests > parts_left

    def _search(self, notes: NumberedStatements) -> ModelTool:
        async def find(query: str) -> str:
            """Search what is known with other words. Gives statements, numbered on.

            Args:
                query: a few words, such as the notes would use.
            """
            found = await self.nearest.search(query)
            self.found.update(dict.fromkeys(found))
            return wrap_data("known", notes.show(found, RESULT_CHARS) or "nothing more")

        return find

    def _accept(self, answer: Edits, checker: EditChecker) -> None:
        """Keep of an answer what can be carried out, and why the rest is not."""
        looked_at = checker.checked_edits(answer)
        for edit in looked_at:
            outcome = checker.check(edit)
            if isinstance(outcome, RejectedEdit) and outcome.skipped.reason == "invalid":
                outcome = checker.check_sentence(edit) or outcome
            if isinstance(outcome, RejectedEdit):
                self.skipped.append(outcome.skipped)
            else:
                self._stage(outcome)
        located = [
            (skip, span) for skip in answer.skipped[: checker.max_checked] if (span := checker.span_of(skip))
        ]
        for skip, span in located:
            self._skip(skip, span, checker)
        if len(looked_at) < len(answer.edits) or len(answer.skipped) > checker.max_checked:
            self.skipped.append(SkippedSpan(*checker.window, "limit"))
        if not answer.edits and not located:
            self.skipped.append(SkippedSpan(*checker.window, "other"))

    def _stage(self, accepted: AcceptedEdit) -> None:
        """Take an edit in; one of what an earlier part gave takes the place of that."""
        target = accepted.target
        older = self._staged.get(target) if target is not None and target.reference is None else None
        if older is None or not isinstance(older.part, Addition):
            self.accepted.append(accepted)
            return
        self.accepted.remove(older)
        self.skipped.append(_skip_statement(older.part.statement, "superseded"))
        stored = older.part.replaces
        if isinstance(accepted.part, Addition):
            self.accepted.append(
                replace(accepted, part=replace(accepted.part, replaces=stored), target=older.target)
            )
        elif stored is not None:
            self.accepted.append(
                replace(accepted, part=replace(accepted.part, removes=stored), target=older.target)
            )

    def _skip(self, skip: Skip, span: Span, checker: EditChecker) -> None:
        stored = checker.notes.by_number(skip.known) if skip.known and skip.reason == "duplicate" else None
        if stored is not None and stored.reference is not None:
            statement = Statement("note", self.quotes.text[slice(*span)], *span)
            self.known.append(KnownStatement(statement, stored.reference))
        else:
            self.skipped.append(SkippedSpan(*span, skip.reason))

    async def _place(
        self, adds: Sequence[Addition], changes: JudgedChanges
    ) -> tuple[list[Addition], list[KnownStatement]]:
        """Return statements where they go by the rules of code, and those that memory holds already.

        The newer of two about the same thing takes the older one's place, wherever that stands; what another file
        says is known; what a statement names is linked; a file that is full has a successor.
        """
        project, day = self.request.project, self.request.day
        own_paths = frozenset(
            destination(kind, slug).path for kind in STATEMENT_KINDS for slug in (project, None)
        )
        rooms: dict[str, FileSeries] = {}
        settled: list[Addition] = []
        known: dict[Addition, KnownStatement] = {}
        for add in adds:
            if in_place := add if add.replaces is not None else self._superseding(add):
                settled.append(changes.take(in_place, None))
                continue
            if add.path not in rooms:
                rooms[add.path] = await FileSeries.of(
                    add.path, self.session.tools, version=self.builtin.version
                )
            placed = replace(add, path=rooms[add.path].path_for(len(render_bullet(add.statement.text, day))))
            about = await find_related(placed, own_paths, self.session.tools)
            links = tuple(dict.fromkeys([*add.links, *about.links]))
            settled.append(replace(placed, path=about.home or placed.path, links=links))
            if duplicate := about.known or self._known_as_paraphrase(settled[-1]):
                known[settled[-1]] = duplicate
            else:
                settled[-1] = changes.take(settled[-1], about)
        for add in await find_replacements(settled, known, day, self.session.tools):
            known.pop(add, None)
        return [add for add in settled if add not in known], list(known.values())

    def _superseding(self, add: Addition) -> Addition | None:
        """Return a statement in the place of one in another file that it supersedes by its key; None for none."""
        subject = subject_of(add.statement.kind, add.statement.text)
        for bullet in self._bullets(add):
            about = subject_of(bullet.kind, bullet.text)
            if subject is None or about != subject or bullet.day > self.request.day:
                continue
            if add.statement.kind == "done" and bullet.kind == "pending":
                return replace(add, path=bullet.path, replaces=bullet.text)
            if not {add.statement.kind, bullet.kind} & SAME_TASK.keys() and is_replaceable(bullet.text):
                return replace(
                    add, path=bullet.path, heading=bullet.heading or add.heading, replaces=bullet.text
                )
        return None

    def _known_as_paraphrase(self, add: Addition) -> KnownStatement | None:
        """Return where another file says a statement in nearly the same words; None where none does."""
        if add.statement.kind in SAME_TASK:
            return None
        words = paraphrase_form(add.statement.text)
        for bullet in self._bullets(add):
            if bullet.kind not in SAME_TASK and bullet.reference and words == paraphrase_form(bullet.text):
                return KnownStatement(add.statement, bullet.reference)
        return None

    def _bullets(self, add: Addition) -> list[FiledStatement]:
        """Return the dated bullets near to the text in other files of the mount that a statement goes to."""
        mount = mount_of(add.path)
        return [
            statement
            for statement in self.found
            if statement.day != UNDATED and statement.path != add.path and mount_of(statement.path) == mount
        ]


def _parts(text: str, session: ModelSession) -> list[Span]:
    """Return the parts of a text that are read one after the other, not more than there are requests for.

    Raises:
        ModelUnavailable: they would be too long.
    """
    left = session.limits.requests - session.meter.reserved - session.meter.requests
    most = max(1, left - 1 if left > 2 else left)  # one may be needed to mend an answer
    size = max(WINDOW_CHARS, -(-len(text) // most))
    while len(spans := split_windows(text, size)) > most:
        size += size // 10
    if size > MAX_WINDOW_CHARS:
        raise model_unavailable(ModelFailure.TEXT_TOO_LONG)
    return spans


def _is_filed(target: FiledStatement) -> bool:
    """Tell whether `memory_remember` wrote a statement: by its file, or by the date of its bullet."""
    return is_statement_file(target.path) or target.day != UNDATED


def _skip_statement(statement: Statement, reason: SkipReason) -> SkippedSpan:
    return SkippedSpan(statement.start, statement.end, reason)


def _with_dates(add: Addition, day: date) -> Addition:
    statement = add.statement
    return replace(add, statement=replace(statement, text=with_dates(statement.text, statement.kind, day)))
