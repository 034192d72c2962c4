"""A stored Markdown text as HTML that can run nothing and load nothing. Pure.

Raw HTML in a text stays text. The parser makes the only elements that there are, and a cleaner then lets through no
others. Links to files become links to their pages, and images become their words and their address. Characters that
nobody sees are shown by their code points.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape

from memex.store import links
from memex.store.citations.syntax import find_citations
from memex.store.links import LinkCandidate
from memex.store.markdown import MAX_NESTING, FieldValue, read_front_matter
from memex.store.writes.hidden_characters import reveal_hidden
from memex.ui.rendering import address

FILE_PAGE = "/ui/memory/file"
NEW_PAGE = "/ui/memory/new"
EVIDENCE_PAGE = "/ui/memory/evidence"
MAX_CHARS = 200_000  # a longer text is shown as it is stored: laying it out would take seconds
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")
_NOT_IN_SLUG = re.compile(r"[\W_]+")

TAGS = frozenset(
    (
        *(
            "a",
            "blockquote",
            "br",
            "code",
            "del",
            "em",
            "hr",
            "li",
            "ol",
            "p",
            "pre",
            "s",
            "span",
            "strong",
            "ul",
        ),
        *("h2", "h3", "h4", "h5", "h6", "table", "tbody", "td", "th", "thead", "tr"),
    )
)
ATTRIBUTES = {
    "a": {"href", "title", "class"},
    "span": {"class"},
    "ol": {"start"},
    **{f"h{level}": {"id"} for level in range(2, 7)},
}
SCHEMES = {"http", "https", "mailto"}
BOXES = {"[ ] ": "☐", "[x] ": "☑"}
IN_ITEM = 3  # the level of a text in an item of a list


@dataclass(frozen=True, slots=True)
class TextSection:
    """A heading of a text, and the place on the page where it stands."""

    level: int
    title: str
    anchor: str


@dataclass(frozen=True, slots=True)
class RenderedText:
    """A stored text as a page shows it: its front matter, its body as HTML, and its headings."""

    fields: dict[str, FieldValue]
    body: Markup
    sections: tuple[TextSection, ...]
    is_laid_out: bool


def render_text(text: str, path: str, targets: Sequence[str], title: str | None = None) -> RenderedText:
    """Return a stored text as a page shows it.

    `targets` are the virtual paths to which its links lead and where files stand. A first heading that says the
    same as `title`, which the page shows above, is left out.
    """
    fields, start = read_front_matter(text)
    body = reveal_hidden(text[start:])
    if len(body) > MAX_CHARS:
        return stored_text(text)
    parser = _parser()
    mount, relative = _split(path)
    env: dict[str, Any] = {
        "path": relative,
        "mount": mount,
        "candidates": [_candidate(target, mount) for target in targets],
        "sections": [],
    }
    tokens = parser.parse(body, env)
    if tokens and tokens[0].tag == "h1" and _plain(tokens[1]) == title:
        del tokens[:3]
    _mark_sections(tokens, env["sections"])
    _draw_boxes(tokens)
    body_html = _clean(parser.renderer.render(tokens, parser.options, env))
    return RenderedText(fields, body_html, tuple(env["sections"]), is_laid_out=True)


def render_message(text: str, parent_level: int) -> RenderedText:
    """Return a message of a conversation as a page shows it: only its links to sites are links.

    Line breaks in it stay. Its headings come below `parent_level`, that of the heading under which it stands.
    """
    body = reveal_hidden(text)
    if len(body) > MAX_CHARS:
        return stored_text(text)
    parser = _message_parser()
    tokens = parser.parse(body)
    _draw_boxes(tokens)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + parent_level, 6)}"
    return RenderedText({}, _clean(parser.renderer.render(tokens, parser.options, {})), (), is_laid_out=True)


def render_messages(texts: Sequence[str], parent_level: int) -> list[RenderedText]:
    """Return messages as a page shows them; see `render_message`."""
    return [render_message(text, parent_level) for text in texts]


def stored_text(text: str) -> RenderedText:
    """Return a text as it is stored, for one that would take too long to lay out."""
    body = Markup('<pre class="raw">{}</pre>').format(reveal_hidden(text))
    return RenderedText({}, body, (), is_laid_out=False)


def _clean(html: str) -> Markup:
    """Return HTML with no other elements, attributes and addresses than those that a text may have."""
    clean = nh3.clean(
        html,
        tags=set(TAGS),
        attributes=ATTRIBUTES,
        url_schemes=SCHEMES,
        link_rel="noopener noreferrer nofollow",
    )
    return Markup(clean)  # noqa: S704  # cleaned above


@cache
def _parser() -> MarkdownIt:
    parser = _new_parser(has_breaks=False)
    parser.inline.ruler.before("link", "wiki_link", links.read_wiki_link)
    parser.add_render_rule("wiki_link", _render_wiki_link)
    parser.add_render_rule("link_open", _render_link_open)
    return parser


@cache
def _message_parser() -> MarkdownIt:
    parser = _new_parser(has_breaks=True)
    parser.add_render_rule("link_open", _render_link_of_message)
    return parser


def _new_parser(*, has_breaks: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING, "breaks": has_breaks})
    parser.enable(["table", "strikethrough"])
    parser.add_render_rule("image", _render_image)
    return parser


def _mark_sections(tokens: Sequence[Token], sections: list[TextSection]) -> None:
    """Give each heading an anchor, and a level below that of the title of the page."""
    used: set[str] = set()
    for place, token in enumerate(tokens):
        if token.type not in ("heading_open", "heading_close"):
            continue
        level = min(int(token.tag[1]) + 1, 6)
        token.tag = f"h{level}"
        if token.type == "heading_open":
            title = _plain(tokens[place + 1])
            anchor = _new_anchor(title, used)
            token.attrSet("id", anchor)
            sections.append(TextSection(level, title, anchor))


def _draw_boxes(tokens: Sequence[Token]) -> None:
    """Show the mark of a task, `[ ]` or `[x]`, as a box."""
    for before, inline in pairwise(tokens):
        if before.type == "paragraph_open" and inline.level >= IN_ITEM and inline.children:
            first = inline.children[0]
            box = BOXES.get(first.content[:4].casefold()) if first.type == "text" else None
            if box is not None:
                first.content = f"{box} {first.content[4:]}"


def _new_anchor(title: str, used: set[str]) -> str:
    anchor = base = heading_anchor(title)
    number = 1
    while anchor in used:
        number += 1
        anchor = f"{base}-{number}"
    used.add(anchor)
    return anchor


def heading_anchor(title: str) -> str:
    """Return the anchor of the first heading with a title."""
    return "section-" + (_NOT_IN_SLUG.sub("-", title.casefold()).strip("-")[:80] or "untitled")


def _plain(inline: Token) -> str:
    return "".join(map(_plain_child, inline.children or ()))


def _plain_child(child: Token) -> str:
    if child.type == "wiki_link":
        return links.wiki_parts(child.content)[2] or child.content
    return child.content if child.type in ("text", "code_inline") else ""


def _render_wiki_link(
    _: RendererHTML, tokens: Sequence[Token], index: int, __: OptionsDict, env: EnvType
) -> str:
    inside = tokens[index].content
    if cited := find_citations(f"[[{inside}]]"):
        return _citation(env, *cited[0])
    targets, anchor, label = links.wiki_parts(inside)
    shown = label or inside
    if not targets:
        return str(escape(f"[[{inside}]]"))
    written = inside.partition("|")[0].partition("#")[0]
    return f"{_opening(env, targets, anchor, written)}{escape(shown)}</a>"


def _render_link_open(
    _: RendererHTML, tokens: Sequence[Token], index: int, __: OptionsDict, env: EnvType
) -> str:
    href = str(tokens[index].attrGet("href") or "")
    if href.startswith("#"):
        return f'<a href="#{escape(heading_anchor(href[1:]))}">'
    if _SCHEME.match(href):
        return _external(href)
    targets, anchor = links.destination_parts(href, env["path"])
    if not targets:
        return '<a class="missing">'
    return _opening(env, targets, anchor, href.partition("#")[0])


def _render_link_of_message(
    _: RendererHTML, tokens: Sequence[Token], index: int, __: OptionsDict, ___: EnvType
) -> str:
    href = str(tokens[index].attrGet("href") or "")
    return _external(href) if _SCHEME.match(href) else f'<a title="{escape(href)}">'


def _citation(env: EnvType, conversation_id: str, number: int) -> str:
    """Return a link to what is known of the message that a statement cites."""
    to = address(EVIDENCE_PAGE, path=f"{env['mount']}/{env['path']}")
    named = f"{conversation_id}#{number}"
    return (
        f'<a class="citation" href="{escape(to)}#{citation_anchor(conversation_id, number)}" '
        f'title="Evidence: {named}">evidence</a>'
    )


def citation_anchor(conversation_id: str, number: int) -> str:
    """Return the place on the page of the evidence of a file where a message is first named."""
    return f"said-{conversation_id}-{number}"


def _external(href: str) -> str:
    return f'<a class="external" href="{escape(href)}" title="{escape(href)}">'


def _render_image(_: RendererHTML, tokens: Sequence[Token], index: int, __: OptionsDict, ___: EnvType) -> str:
    token = tokens[index]
    shown, source = escape(token.content or "image"), escape(str(token.attrGet("src") or ""))
    return f'<span class="image">{shown} <span class="path">{source}</span></span>'


def _opening(env: EnvType, targets: Sequence[str], anchor: str | None, written: str) -> str:
    """Return the opening tag of a link to a file, or to the page that makes the file if there is none."""
    found = links.resolve(targets, env["candidates"])
    if found is None:
        name = written.strip("/ ").removesuffix(".md")[:500]
        new = address(NEW_PAGE, path=f"{env['mount']}/{name}.md")
        return f'<a class="missing" href="{escape(new)}" title="There is no such file yet">'
    to = address(FILE_PAGE, path=f"{found.mount}/{found.path}")
    return f'<a href="{escape(to)}{"#" + heading_anchor(anchor) if anchor else ""}">'


def _candidate(target: str, mount: str) -> LinkCandidate:
    own, relative = _split(target)
    return LinkCandidate(int(own != mount), own, relative, *links.path_keys(relative))


def _split(path: str) -> tuple[str, str]:
    """Return the mount of a virtual path, and the path below the mount."""
    depth = 2 if path.startswith("projects/") else 1
    parts = path.split("/")
    return "/".join(parts[:depth]), "/".join(parts[depth:])
