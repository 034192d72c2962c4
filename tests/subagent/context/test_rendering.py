"""What a context shows of stored text: remote images become their words, hidden characters their code points."""

from memex.store.records import Reference
from memex.subagent.context.assembly import FORMAT, VERBATIM_FORMAT
from memex.subagent.context.images import without_remote_images
from memex.subagent.context.recall import note_of
from memex.subagent.context.rendering import Rendering, logged_rendering
from memex.subagent.engine import ENGINE
from memex.subagent.planner import Choice

HIDDEN = "buy milk\U000e0041"
REMOTE = "See ![the plan](https://host.example/?q=secret)."

# Texts, and what is shown of them.
REPLACED = {
    'a ![x y](https://e/?q=1 "title") b': "a x y b",
    "![a [b]](https://e/x) c": "a b c",
    "[![alt](https://i/x.png)](https://h)": "[alt](https://h)",
    "![words][1]\n\n[1]: https://e": "words\n\n[1]: https://e",
    "- a ` b\n- ![x](//e)\n- c `": "- a ` b\n- x\n- c `",
    "> ![x\n> y](<https://e e>)": "> x y",
    "a\r\n![x](\nHTTP://e)\r\nb": "a\r\nx\r\nb",
    "![a `]` b](http://e)": "a `` b",
    "![ ![i](http://a) ](http://e/)": "i(http://a)",
    "| a | ![x](http://e) |\n|--|--|\n| ![y](http://e) | b |": "| a | x |\n|--|--|\n| y | b |",
    "![](https://e)": "image",
    "<img src='https://x' alt='A b'> <IMG SRC=//x> <img srcset=\"https://x 2x\"": "A b image image",
}
KEPT = (
    "`![x](https://e)` is Markdown",
    "```\n![x](https://e)\n```",
    "vec![1, 2][0] and ![[note]] and \\![x](https://e)",
    "![plan](plans/a.png) ![dot](data:image/png;base64,AA) [a link](https://e)",
    "<img src=a.png> <imgx src='https://e'>",
)


def test_remote_images_become_their_words() -> None:
    """Whatever form an image has, its address is gone."""
    for text, shown in REPLACED.items():
        assert without_remote_images(text) == shown, text


def test_what_asks_no_host_stays() -> None:
    """Code, embedded notes, files beside the note, data and links are shown as they are stored."""
    for text in KEPT:
        assert without_remote_images(text) == text


def test_a_note_is_shown_with_its_titles() -> None:
    """The titles above a text come from the same file, so they are shown in the same way."""
    choice = Choice(Reference("user/a.md", 1, (0, 9)), "match", heading=("Pl\u202ean",))

    assert note_of([(choice, HIDDEN)], Rendering()).text == "# Pl⟨U+202E⟩an\nbuy milk⟨U+E0041⟩"


def test_images_are_kept_where_the_setting_says_so() -> None:
    """Hidden characters are shown all the same."""
    assert Rendering(images="keep").render(REMOTE + HIDDEN) == f"{REMOTE}buy milk⟨U+E0041⟩"


def test_a_logged_call_says_how_it_showed_text() -> None:
    """An older format showed stored text as it was; the setting of a call is in its configuration."""
    older = ENGINE.replace(FORMAT, VERBATIM_FORMAT)

    assert logged_rendering(ENGINE, {}) == Rendering()
    assert logged_rendering(ENGINE, Rendering(images="keep").config) == Rendering(images="keep")
    assert logged_rendering(older, None).render(REMOTE + HIDDEN) == REMOTE + HIDDEN
