"""The text of a PDF, DOCX or HTML file as Markdown, made in a process of the text pool, which can be ended.

The page of a PDF has a heading, such as `## Page 3`; the headings of the other kinds stay.
"""

import re
from collections.abc import Iterator
from importlib.util import find_spec
from io import BytesIO
from zipfile import ZipFile

from memex.errors import LimitExceeded
from memex.store.text_pool import offload

EXTRA = "documents"
MAX_FILE_BYTES = 32 << 20
MAX_XML_BYTES = 16 << 20  # of a part of a DOCX file, which unpacks to a thousand times its size
WEIGHT_CHARS = 2 << 20  # by which the text pool gives each file half a minute of the processor
PACKAGES = ("mammoth", "markdownify", "pypdf")
_HIDDEN = ("head", "script", "style", "svg", "template")
_MARKUP = re.compile(r"^[ \t]*+(?=[#`~<]|(?:-++|=++)[ \t]*+$)", re.MULTILINE)


def ending_of(path: str) -> str | None:
    """Return the ending of a path if its text is extracted; None for a file that is read as it stands."""
    ending = path.rpartition("/")[2].rpartition(".")[2].lower()
    return ending if ending in ("pdf", "docx", "html", "htm") else None


def is_installed() -> bool:
    """Return whether the packages of the extra are there."""
    return all(find_spec(package) is not None for package in PACKAGES)


def extract(ending: str, content: bytes) -> tuple[str | None, str]:
    """Return the text of a file, or None and the reason why it is left out, whatever the file holds.

    Raises:
        StoreUnavailable: the system starts no process.
    """
    try:
        return offload.wait_apart(WEIGHT_CHARS, _extract, ending, content)
    except LimitExceeded:
        return None, "too_hard"


def _extract(ending: str, content: bytes) -> tuple[str | None, str]:
    from pypdf.errors import DependencyError, FileNotDecryptedError  # noqa: PLC0415  # in the process alone

    try:
        if ending == "pdf":
            text = "\n".join(_pages(content))
        else:
            text = _markdown(_html(content) if ending == "docx" else content)
    except MemoryError:
        raise
    except (DependencyError, FileNotDecryptedError):  # the first: no package for its cipher
        return None, "encrypted"
    except Exception:  # noqa: BLE001  # the libraries raise anything at a broken file
        return None, "unreadable"
    text = text.replace("\0", "").encode("utf-8", "replace").decode()
    return (text, "") if text.strip() else (None, "binary")


def _pages(content: bytes) -> Iterator[str]:
    """Yield the pages of a PDF that have text, without lines that Markdown would take for headings or fences."""
    from pypdf import PdfReader  # noqa: PLC0415  # in the process alone

    for number, page in enumerate(PdfReader(BytesIO(content)).pages, start=1):
        if text := page.extract_text().strip():
            text = _MARKUP.sub(r"\g<0>\\", text)
            yield f"## Page {number}\n\n{text}\n"


def _html(content: bytes) -> str:
    """Return a DOCX file as HTML, without its pictures."""
    import mammoth  # noqa: PLC0415  # in the process alone

    if any(
        part.filename.endswith(".xml") and part.file_size > MAX_XML_BYTES
        for part in ZipFile(BytesIO(content)).infolist()
    ):
        raise MemoryError
    found = mammoth.convert_to_html(
        BytesIO(content),
        style_map="p[style-name='Title'] => h1:fresh",
        include_embedded_style_map=False,
        convert_image=mammoth.images.img_element(lambda _image: {}),
    )
    return str(found.value)


def _markdown(html: str | bytes) -> str:
    """Return HTML as Markdown, with the titles of pictures in place of them."""
    from bs4 import BeautifulSoup  # noqa: PLC0415  # in the process alone
    from markdownify import ATX, MarkdownConverter  # noqa: PLC0415  # in the process alone

    soup = BeautifulSoup(html, "html.parser")
    for tag in soup(_HIDDEN):
        tag.decompose()
    for picture in soup("img"):
        picture.replace_with(str(picture.get("alt", "")))
    converter = MarkdownConverter(
        heading_style=ATX, bullets="-", escape_asterisks=False, escape_underscores=False
    )
    return converter.convert_soup(soup) + "\n"
