"""Hostile texts: marks, words and structures that cost a reader of text more time than others, or more memory."""

import random
from collections.abc import Iterator

FILE_CHARS = 1_000_000
REMEMBERED_CHARS = 200_000

# What is repeated; a text is one of these, cut to its length.
REPEATED = {
    "dots": ".",
    "question marks": "?",
    "ellipses": "…",
    "spaces": " ",
    "line feeds": "\n",
    "returns": "\r",
    "tabs": "\t",
    "backslashes": "\\",
    "headings": "# a\n",
    "headings with text": "# a b\n\ntext\n\n",
    "underlined headings": "a\n-\n",
    "quotations": "> a\n",
    "nested quotations": "> " * 50 + "a\n",
    "one deep quotation": "> ",
    "list items": "- a\n",
    "nested lists": "- a\n  - b\n    - c\n",
    "numbered items": "1. a\n",
    "emphasis": "*a **b ",
    "stars": "*",
    "underscores": "_a__b",
    "open brackets": "[",
    "brackets and parentheses": "[a](",
    "links": "[a](b) ",
    "wiki links": "[[a]] ",
    "open wiki links": "[[a|",
    "images": "![a](http://b/c.png)",
    "definitions": "[a]: /b\n",
    "table rows": "|a|b|\n|-|-|\n",
    "table cells": "|a",
    "blocks of HTML": "<div>\n",
    "open tags": "<a ",
    "comments": "<!--",
    "entities": "&amp;",
    "addresses": "<a@b.c> ",
    "backticks": "`",
    "backticks and spaces": "` ",
    "open code": "```\na\n",
    "paragraphs": "a\n\n",
    "lines": "a\n",
    "sentences": "I like tea. ",
    "requests": "Forget my pin. ",
    "days": "3 May 2027 ",
    "passwords": "password: x ",
    "keys": "-----BEGIN PRIVATE KEY-----\n",
    "many scripts": "日本語 Ωé 😀\u202eא ",
    "joined characters": "e\u0301\u200d",
    "tag characters": "a\U000e0041",
}


def hostile_texts(chars: int) -> Iterator[tuple[str, str]]:
    """Yield texts of a length without end, each with its name: repeated ones first, then mixtures of these."""
    chance = random.Random(7)
    for name, unit in REPEATED.items():
        yield name, _cut(unit, chars)
    yield "front matter", _front_matter(chars)
    yield "words", _cut(" ".join(f"{chance.getrandbits(64):x}" for _ in range(chars // 15)), chars)
    for name, unit in REPEATED.items():
        yield f"{name} before an end", _cut(unit, chars - 1) + "x"
    names = list(REPEATED)
    while True:
        chosen = chance.sample(names, 4)
        unit = "".join(REPEATED[name] * chance.randrange(1, 40) for name in chosen)
        yield ", ".join(chosen), _cut(unit, chars)


def _front_matter(chars: int) -> str:
    return "---\n" + _cut("a: &a [*a, {b: *a}]\n", 60_000) + "---\n" + _cut("x ", chars - 60_100)


def _cut(unit: str, chars: int) -> str:
    return (unit * (chars // len(unit) + 1))[:chars]
