"""What MkDocs adds to the pages of docs/: those made of the code, and llms.txt for agents."""

import re
import sys
from pathlib import Path

import mkdocs_gen_files

sys.path.insert(0, str(Path(__file__).parent))
import reference

MADE = {
    "reference/http.md": reference.http,
    "reference/cli.md": reference.cli,
    "reference/python.md": reference.python,
    "changelog.md": reference.changelog,
}
INTRODUCTION = """# Memex

> A memory service for AI agents: Markdown files in Postgres with every version kept, exact search, and two
> tools, `memory_remember` and
> `memory_context`. It runs without a model, a key or a download. `llms-full.txt` beside this file holds all
> pages in one.

"""


def main() -> None:
    """Write the pages, and the lists of all pages."""
    for name, make in MADE.items():
        with mkdocs_gen_files.open(name, "w") as page:
            page.write(make())
    listed, whole = [INTRODUCTION], []
    for section in mkdocs_gen_files.config["nav"]:
        for name, pages in section.items():
            listed.append(f"## {name}\n\n")
            for page in (next(iter(page.values())) if isinstance(page, dict) else page for page in pages):
                with mkdocs_gen_files.open(page, "r") as file:
                    text = file.read()
                # A page is a folder of its name, and an index that of the folder that it is in.
                address = re.sub(r"(^|/)index$", "", page.removesuffix(".md"))
                address = f"{address}/" if address else "./"
                listed.append(f"- [{reference.title(text)}]({address}): {reference.summary(text)}\n")
                whole.append(text)
            listed.append("\n")
    with mkdocs_gen_files.open("llms.txt", "w") as file:
        file.write("".join(listed))
    with mkdocs_gen_files.open("llms-full.txt", "w") as file:
        file.write("\n\n".join(whole))


main()
