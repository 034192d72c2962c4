"""Tables and plots of a page that loads nothing, for light and dark screens."""

import re
from collections.abc import Callable
from html import escape
from importlib.resources import files
from io import StringIO
from typing import Any

from memex.evals.report.drawing import Figure, rc_context
from memex.evals.report.table import Table

# Stand-ins that the page's style sheet replaces, so that a plot follows the screen's colours.
_INK, SOFT, _LINE = "#010101", "#010102", "#010103"
COLOURS = tuple(f"#0102{number:02x}" for number in range(7))
_VARIABLES = {_INK: "--ink", SOFT: "--soft", _LINE: "--line"} | {
    colour: f"--c{number}" for number, colour in enumerate(COLOURS)
}
_STYLE: Any = {
    "svg.fonttype": "none",
    "font.size": 10,
    "text.color": _INK,
    "axes.labelcolor": SOFT,
    "axes.edgecolor": _LINE,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "grid.color": _LINE,
    "legend.frameon": False,
}


def style_sheet() -> str:
    """Return the style sheet of a page."""
    return (files("memex.evals.report") / "page.css").read_text(encoding="utf-8")


def render_table(table: Table) -> str:
    """Return a table as HTML, "" for one without rows."""
    if not table.rows:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in table.columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def _cell(text: str) -> str:
    marked = f' class="{text.lower()}"' if text in {"better", "worse", "LEAKS"} else ""
    return f"<td{marked}>{escape(text)}</td>"


def render_plot(name: str, draw: Callable[[Figure], None], caption: str, height: float = 4) -> str:
    """Return a plot as SVG under which its caption stands.

    Args:
        name: of what it is a part, unlike those of other plots with the same caption.
        draw: draws it.
        caption: what it shows.
        height: in inches, at a width of seven.
    """
    # The salt makes the ids of each drawing its own.
    with rc_context(_STYLE | {"svg.hashsalt": f"{name} {caption}"}):
        figure = Figure(figsize=(7, height), layout="constrained")
        draw(figure)
        written = StringIO()
        figure.savefig(written, format="svg", transparent=True)
    return f"<figure>{_inline_svg(written.getvalue(), caption)}<figcaption>{escape(caption)}</figcaption></figure>"


def _inline_svg(svg: str, label: str) -> str:
    """Return a drawing as a part of a page: no prologue, metadata or names of its own, colours by variables."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\sxmlns(?::\w+)?="[^"]*"', "", svg)
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', svg))
    svg = re.sub(r'\sid="([^"]*)"', lambda found: found[0] if found[1] in used else "", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(label)}"', 1)
