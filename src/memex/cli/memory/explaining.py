"""Explanations of `memex find`: why a file is a hit, or is not."""

from typing import Any

from memex.cli.output import Column, Screen, StyledText
from memex.cli.session.session import CommandSession

MEANINGS = 3  # hits of a search that are explained word by word

_WORD_PLACES = {
    "passage": "in the best passage",
    "elsewhere": "in another passage",
    "neighbours": "in the files beside it",
    "absent": "not in the file",
    "uncounted": "not counted",
}


async def find_meanings(
    session: CommandSession, arguments: dict[str, Any], hits: list[dict[str, Any]]
) -> dict[str, list[dict[str, Any]] | None]:
    """Return by path which words of hits answer which words of the query, where the search compared them so."""
    return {
        hit["path"]: (await session.call("memory_find_explain", arguments | {"path": hit["path"]}))["meaning"]
        for hit in hits
        if hit["match"].get("interaction") is not None
    }


def explain_rank(screen: Screen, match: dict[str, Any], rank: int) -> None:
    """Show why a hit has its rank: the score of each lexeme, and both ranks with their fusion."""
    from memex.store.search.bm25 import SCALE

    words = f"{match['bm25_rank'] or '–'} by words"
    if match["mode"] == "vectors":
        words = f"{match['vector_rank']} by meaning alone, similarity {match['fused']:.3f}"
    if match["mode"] == "hybrid":
        words += f", {match['vector_rank'] or '–'} by meaning, fused {match['fused']:.5f}"
    if match.get("interaction") is not None:
        words += f" (share of the words {match['share']:.3f}, MaxSim {match['interaction']:.3f})"
    screen.paragraph((f"rank {rank}: {words}", "dim"))
    rows: list[tuple[str, str, StyledText]] = [
        (lexeme, f"{score / SCALE:.3f}", ("in the passage", "dim"))
        for lexeme, score in match["terms"].items()
    ]
    rows += [
        (lexeme, f"+{score / SCALE:.3f}", ("in the files beside it", "dim"))
        for lexeme, score in match["borrowed"].items()
    ]
    if rows:
        rows.append(("", f"{match['score'] / SCALE:.3f}", ("in all", "dim")))
        screen.table(
            [Column("  lexeme", "cyan"), Column("score", align="right", whole=True), Column("")], rows
        )


def show_explanation(screen: Screen, found: dict[str, Any]) -> None:
    """Print why a search shows a file, or does not."""
    from memex.store.search.bm25 import SCALE

    screen.line((found["path"], "bold"), (f"@{found['version']}", "dim"))
    screen.paragraph(found["reason"])
    match, last = found["match"], found["last"]
    if match is not None:
        ranks = f"score {match['score'] / SCALE:.3f}, {match['bm25_rank'] or '–'} by words"
        if match["mode"] == "hybrid":
            fused = "–" if match["fused"] is None else f"{match['fused']:.5f}"
            ranks += f", {match['vector_rank'] or '–'} by meaning, fused {fused}"
        screen.paragraph((ranks, "dim"))
    if last is not None and last["score_below"] is not None:
        below = f"{last['score_below'] / SCALE:.3f} below hit {last['rank']}, {last['path']}"
        if last["fused_below"] is not None:
            below += f"; fused {last['fused_below']:.5f} below"
        screen.paragraph((below, "dim"))
    if found["words"]:
        screen.line()
        columns = [
            Column("word"),
            Column(
                "score",
                align="right",
                whole=True,
                cell=lambda word: f"{word['score'] / SCALE:.3f}" if word["score"] else "–",
            ),
            Column("where", "dim", cell=lambda word: _WORD_PLACES[word["place"]]),
        ]
        screen.records(found["words"], columns)
    show_meaning(screen, found["meaning"])


def show_meaning(screen: Screen, meaning: list[dict[str, Any]] | None) -> None:
    """Show which words of a passage answer which words of the query, by meaning."""
    if meaning:
        screen.line()
        columns = [
            Column("word"),
            Column("similarity", align="right", whole=True, cell=lambda row: f"{row['similarity']:.3f}"),
            Column("answered by", "dim", cell="answer"),
        ]
        screen.records(meaning, columns)
