"""`python -m memex.evals.retrieval`: how well search and contexts find what is known to answer questions."""

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from memex import logging
from memex.cli.eval.cases import Runs
from memex.cli.eval.output import misuse, show_table, write_file
from memex.cli.options import Json
from memex.cli.output import CommandOutput, Screen, format_count, print_output, report_errors
from memex.cli.progress import progress_bar
from memex.evals.languages.suite import LANGUAGES
from memex.evals.retrieval import datasets, embedding_cache, evaluation, page, reference, tables
from memex.evals.retrieval import runs as kept
from memex.evals.retrieval.runs import RetrievalComparison, RetrievalRun
from memex.evals.told.chats import load_locomo_chats
from memex.settings import read_settings


def retrieval(
    *,
    suite: Annotated[
        Literal[
            "locomo",
            "locomo-plus",
            "foreign",
            "beam",
            "beam-500k",
            "scifact",
            "cranfield",
            "vaults",
            "languages",
            "all",
        ],
        typer.Option(
            help="The data set whose questions are asked; `all` leaves out beam-500k and languages."
        ),
    ] = "all",
    mode: Annotated[Literal["bm25", "hybrid", "auto"], typer.Option(help="How search works.")] = "bm25",
    embedder: Annotated[
        str,
        typer.Option(
            help="The embedding model for the modes hybrid and auto, such as local or openai:MODEL."
        ),
    ] = "local",
    stored_as: Annotated[
        Literal["files", "conversations", "documents"],
        typer.Option(
            "--as",
            help="How the data is stored: as memory files, messages of imported conversations, or documents.",
        ),
    ] = "files",
    runs: Runs = None,
    compare: Annotated[
        Path | None,
        typer.Option(
            help="The file of a run to compare with; by default the newest run of the same suite in the folder."
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(min=1, help="Ask only this many questions of each part; the choice is always the same."),
    ] = None,
    told: Annotated[
        int,
        typer.Option(min=0, help="Tell each user so many turns of LoCoMo before the questions are asked."),
    ] = 0,
    database_url: Annotated[
        str | None,
        typer.Option(help="A database that this run may change, instead of a separate embedded server."),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Also write the run as an HTML page with plots.")] = None,
    reference: Annotated[
        bool,
        typer.Option(
            "--reference", help="Only compare the published figures with the ranking formula of this version."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Write real data as memory files, ask questions through memory_find and memory_context, and score the answers.

    MEMEX_EVAL_DATA names the folder of the data. Figures are in percent, with the 95 % interval over the questions.
    """
    logging.configure("warning")
    root = _prepared(suite, as_json=as_json)
    if reference:
        _reproduce(root, suite, as_json=as_json)
        return
    with report_errors(as_json=as_json):
        runs = runs or read_settings().eval_runs
        kept_as = suite if stored_as == "files" else f"{suite}-{stored_as}"
        earlier_path = compare or kept.find_previous(runs, kept_as)
        earlier = kept.load(earlier_path) if earlier_path else None
        with progress_bar() as progress:
            options = evaluation.RetrievalOptions(
                mode=mode,
                embedder=embedder,
                sample=sample,
                stored_as=stored_as,
                database_url=database_url,
                embeddings=runs / embedding_cache.FOLDER,
                told=_turns(root, told),
            )
            run = asyncio.run(evaluation.run_suite(suite, root, options, progress=progress))
        comparison = kept.compare(earlier, run, name=earlier_path.name) if earlier and earlier_path else None
        path = kept.save(run, runs)
        if html:
            write_file(html, page.render(run, comparison, earlier))
    document = _document(run, comparison) | {"file": str(path)}
    print_output(
        CommandOutput(document, lambda screen: _show(screen, run, comparison, path)), as_json=as_json
    )


def _reproduce(root: Path, suite: str, *, as_json: bool) -> None:
    """Print the published figures of a suite beside those of `bm25.py`; exit with 1 if one differs."""
    with report_errors(as_json=as_json):
        figures = reference.reproduce(root, reference.SUITES if suite == "all" else (suite,))
    agree = all(figure.agrees for figure in figures)
    document = {
        "agree": agree,
        "tolerance": reference.TOLERANCE,
        "figures": [asdict(figure) | {"agrees": figure.agrees} for figure in figures],
    }
    print_output(
        CommandOutput(document, lambda screen: show_table(screen, tables.reference(figures))), as_json=as_json
    )
    if not agree:
        raise typer.Exit(1)


def _prepared(suite: str, *, as_json: bool) -> Path:
    """Return the folder of the data, if the suite needs it; exit with 2 if it is missing."""
    with misuse(as_json=as_json):
        return Path() if suite == LANGUAGES else datasets.find_data_folder()


def _turns(root: Path, count: int) -> tuple[str, ...]:
    """Return the first turns of the conversations of LoCoMo."""
    chats = load_locomo_chats(root) if count else ()
    return tuple([text for chat in chats for text in chat.texts][:count])


def _document(run: RetrievalRun, comparison: RetrievalComparison | None) -> dict[str, Any]:
    """Return a run without the outcome of each question, which is only in the file."""
    document: dict[str, Any] = run.model_dump(mode="json", exclude={"parts": {"__all__": {"outcomes"}}})
    return document | {"comparison": comparison.model_dump(mode="json") if comparison else None}


def _show(screen: Screen, run: RetrievalRun, comparison: RetrievalComparison | None, path: Path) -> None:
    for part in run.parts:
        screen.line()
        screen.line(
            (part.name, "bold green"),
            f"  {format_count(part.files, 'file')}, {format_count(part.counts['all'], 'question')}",
            (f"  written in {part.load_s:.0f} s, asked in {part.ask_s:.0f} s", "dim"),
        )
        show_table(screen, tables.ranking(part, run.tool))
        if pairs := tables.notes(part):
            show_table(screen, pairs)
        if contexts := tables.context(part, run.config.budgets):
            show_table(screen, contexts)
        if prompted := tables.prompt(part):
            show_table(screen, prompted)
        if comparison and (changed := tables.changes(part, comparison, run.config.budgets)):
            show_table(screen, changed)
    if run.parts:
        show_table(screen, tables.overview(run, comparison))
        show_table(screen, tables.guards(run))
    if told_apart := tables.foreign(run):
        show_table(screen, told_apart)
    screen.line()
    screen.line(("Kept in ", "dim"), str(path), (f"  ({run.config.mode}, {run.engine})", "dim"))


if __name__ == "__main__":
    typer.run(retrieval)
