"""PDF, DOCX and HTML files of a folder are documents: their text comes from a process with limits."""

import zipfile
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path

import pytest
from pypdf import PdfReader, PdfWriter
from tests.mirror.conftest import Pushing

from memex.mirror import extraction
from memex.mirror.reasons import REASONS
from memex.store.text_pool import pool

Make = Callable[..., Pushing]

CONTENT_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="xml" ContentType="application/xml"/></Types>'
)
RELATIONSHIPS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/></Relationships>'
)
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def pdf(*pages: Sequence[str]) -> bytes:
    """Return a PDF of pages, by their lines."""
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(len(pages)))
    made = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for at, lines in enumerate(pages):
        shown = "BT /F1 12 Tf 72 720 Td 14 TL " + " ".join(f"({line}) Tj T*" for line in lines) + " ET"
        resources = "/MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >>"
        made += [
            f"<< /Type /Page /Parent 2 0 R {resources} /Contents {5 + 2 * at} 0 R >>",
            f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream",
        ]
    text, places = "%PDF-1.4\n", []
    for number, one in enumerate(made, start=1):
        places.append(f"{len(text):010d} 00000 n \n")
        text += f"{number} 0 obj\n{one}\nendobj\n"
    table = f"xref\n0 {len(made) + 1}\n0000000000 65535 f \n{''.join(places)}"
    end = f"trailer << /Size {len(made) + 1} /Root 1 0 R >>\nstartxref\n{len(text)}\n%%EOF"
    return (text + table + end).encode()


def docx(body: str) -> bytes:
    """Return a DOCX file by the XML of its body."""
    files = {
        "[Content_Types].xml": CONTENT_TYPES,
        "_rels/.rels": RELATIONSHIPS,
        "word/document.xml": f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>',
    }
    with zipfile.ZipFile(packed := BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


def paragraph(text: str, style: str = "Normal") -> str:
    """Return the XML of a paragraph."""
    return f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'


def encrypted(content: bytes) -> bytes:
    """Return a PDF that needs a password."""
    writer = PdfWriter(clone_from=PdfReader(BytesIO(content)))
    writer.encrypt("a password", algorithm="RC4-128")
    writer.write(written := BytesIO())
    return written.getvalue()


async def test_a_passage_names_its_page_or_heading(pushing: Make, folder: Path) -> None:
    """The three kinds are found by their words, under the page or the heading that the words stand below."""
    (folder / "harvest.pdf").write_bytes(pdf(["A report"], [], ["The oolong harvest", "was late"]))
    (folder / "steep.docx").write_bytes(
        docx(
            paragraph("Steeping", "Heading1") + paragraph("Gaiwan", "Heading2") + paragraph("Use 95 degrees.")
        )
    )
    (folder / "shop.html").write_text(
        "<html><head><title>t</title><style>p {}</style></head><body><h1>Shop</h1><h2>Opening hours</h2>"
        '<p>Closed on Mondays. <img src="data:image/png;base64,AAAA" alt="a door"></p><script>x()</script></body>',
        encoding="utf-8",
    )
    pushes = pushing()
    report = await pushes.sync()
    found = {}
    for query in ("oolong harvest", "degrees", "Mondays"):
        (hit,) = (await pushes.documents.find(query)).hits
        found[hit.document.path] = (hit.document.title, hit.heading)

    assert (report.documents, report.left_out) == (3, {})
    assert found == {
        "harvest.pdf": ("harvest.pdf", ["Page 3"]),
        "steep.docx": ("Steeping", ["Steeping", "Gaiwan"]),
        "shop.html": ("Shop", ["Shop", "Opening hours"]),
    }
    assert await pushes.stored() == {
        "harvest.pdf": "## Page 1\n\nA report\n\n## Page 3\n\nThe oolong harvest\nwas late\n",
        "steep.docx": "# Steeping\n\n## Gaiwan\n\nUse 95 degrees.\n",
        "shop.html": "# Shop\n\n## Opening hours\n\nClosed on Mondays. a door\n",
    }
    assert (await pushes.sync()).unchanged == 3


async def test_lines_of_a_page_are_neither_headings_nor_fences(pushing: Make, folder: Path) -> None:
    """Marks that stand at the beginning of a line of a PDF do not take the following pages from their headings."""
    (folder / "a.pdf").write_bytes(pdf(["# one", "~~~ two", "three", "-----", "<!-- four"], ["five is last"]))
    pushes = pushing()
    await pushes.sync()
    (hit,) = (await pushes.documents.find("five last")).hits

    assert hit.heading == ["Page 2"]
    assert (await pushes.stored())["a.pdf"].startswith(
        "## Page 1\n\n\\# one\n\\~~~ two\nthree\n\\-----\n\\<!-- four\n"
    )


@pytest.mark.slow
async def test_a_hostile_file_is_left_out_by_name(
    pushing: Make, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken, encrypted, endless and huge files each have a reason, and the files beside them are pushed."""
    monkeypatch.setattr(pool, "CPU_S", 2.0)
    monkeypatch.setattr(extraction, "WEIGHT_CHARS", 0)
    good = pdf(["Tea for all."])
    bomb = docx("<w:p/>" * 3_000_000)
    files = {
        "broken.pdf": (b"%PDF-1.7 nothing of this", "unreadable"),
        "cut.pdf": (good[: len(good) // 2], "unreadable"),
        "empty.pdf": (b"", "unreadable"),
        "scan.pdf": (pdf([]), "binary"),
        "locked.pdf": (encrypted(good), "encrypted"),
        "no_zip.docx": (b"PK nothing", "unreadable"),
        "bomb.docx": (bomb, "too_hard"),
        "deep.html": (b"<div>" * 20_000 + b"deep", "unreadable"),
        "endless.html": (b"<!--" * 300_000, "too_hard"),
        "long.html": (b"<p>" + b"word " * 300_000, "too_large"),
    }
    for name, (content, _) in files.items():
        (folder / name).write_bytes(content)
    with (folder / "huge.pdf").open("wb") as huge:
        huge.truncate(50 << 20)
    (folder / "tea.pdf").write_bytes(good)
    (folder / "notes.md").write_text("# Notes", encoding="utf-8")
    pushes = pushing()
    report = await pushes.sync()

    reasons = {example["path"]: example["reason"] for example in report.examples}
    assert reasons == {name: reason for name, (_, reason) in files.items()} | {"huge.pdf": "too_large"}
    assert set(await pushes.stored()) == {"tea.pdf", "notes.md"}
    assert REASONS.keys() >= set(reasons.values())


@pytest.mark.slow
async def test_without_the_extra_its_files_are_counted(
    pushing: Make, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason names the command that installs the extra; once it is there, the same files are read."""
    (folder / "a.pdf").write_bytes(pdf(["Tea"]))
    (folder / "b.html").write_text("<p>Coffee", encoding="utf-8")
    pushes = pushing()
    monkeypatch.setattr(extraction, "PACKAGES", ("no_such_package",))
    without = await pushes.sync()
    monkeypatch.undo()
    report = await pushes.sync()

    assert (without.documents, without.left_out) == (0, {"no_extra": 2})
    assert 'pip install "memex-memory[documents]"' in REASONS["no_extra"]
    assert (report.documents, report.left_out) == (2, {})
