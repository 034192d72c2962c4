"""Tidying: the statements of files go under the headings that they name."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from memex.http.routers import RouterPair
from memex.service.tidy import TidyResult

PAIR = RouterPair("/tidy", "files", as_admin=" as an admin")


class TidyBody(BaseModel):
    """Options of tidying: the files, by their project, and whether anything is written."""

    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra={"examples": [{"dry_run": True}]}
    )

    project: Annotated[
        str | None,
        Field(
            description="The project whose files are tidied; by default that of the call, or the user's files."
        ),
    ] = None
    dry_run: Annotated[bool, Field(description="Show what would be written, and write nothing.")] = False


@PAIR.operation(
    "memory_tidy",
    summary="Tidy files",
    admin_description="Group the statements of the files of the user in Memex-User, or of a project.",
)
def tidy(body: TidyBody | None = None) -> TidyResult:
    """Group the statements that memory_remember wrote by their topics, as it groups new ones.

    No word is changed. All files are written in one call, which can be reverted.
    """
