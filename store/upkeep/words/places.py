"""The columns that can hold told words, each named once; a test compares them with the tables that there are.

Revisions and the log have queries of their own, since digests stand beside their texts. What is derived of texts
for search is made anew from them. Whatever else is a text is a name or a code, and stays: the test says which.
"""

from dataclasses import dataclass

OF_FILES = "scope_id = any (%(scope_ids)s::bigint[])"
OF_EVIDENCE = "scope_id = any (%(evidence)s::bigint[])"
OF_TENANT = "tenant_id = %(tenant_id)s::bigint"


@dataclass(frozen=True, slots=True)
class Place:
    """Columns of a table that can hold told words.

    Attributes:
        texts: columns of texts, and of arrays of texts.
        documents: columns of JSON.
        where: whose rows are meant.
        reindexed: whether search has an index of the texts.
    """

    table: str
    texts: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    where: str = OF_FILES
    reindexed: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """All of them."""
        return self.texts + self.documents


PLACES = (
    Place("told_again", ("path",)),
    Place(
        "statement",
        ("entry_path", "held_in", "newer"),
        where=f"({OF_FILES} or entry_scope = any (%(scope_ids)s::bigint[]))",
    ),
    Place(
        "rival",
        ("older_path", "newer_path"),
        where="(older_scope = any (%(scope_ids)s::bigint[]) or newer_scope = any (%(scope_ids)s::bigint[]))",
    ),
    Place("citation", ("revision",)),
    Place("document", ("path", "title", "tags", "tag_keys", "given_tags", "text"), reindexed=True),
    Place("document_root", ("client", "patterns"), ("left_out", "examples")),
    Place("message", ("text", "author", "part", "origin", "provider_id"), where=OF_EVIDENCE, reindexed=True),
    Place(
        "conversation",
        ("title", "project", "former_titles", "folder", "branch"),
        where=OF_EVIDENCE,
        reindexed=True,
    ),
    Place("source", documents=("skipped",), where=OF_EVIDENCE),
    Place("conversation_file", documents=("bookmark",), where=OF_EVIDENCE),
    Place("conversation_import", ("name",), ("report", "error"), where=OF_EVIDENCE),
    Place("event", ("name", "project", "cwd"), ("messages", "tools", "metadata"), where=OF_EVIDENCE),
    Place("eval_run", ("suite",), ("document",), where=OF_TENANT),
)
# Columns that have queries of their own: words_revision_list, words_call_list, words_prompt_list.
REVISION = ("path", "content", "counterpart", "reason", "title", "tags", "tag_keys", "path_key", "name_key")
CALL = ("request", "response", "inside", "config", "saw")
PROMPT = ("text",)
