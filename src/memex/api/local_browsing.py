"""A memory as a person looks through it, in this process: a part of `LocalMemex`."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memex.api.documents.local_documents import LocalDocuments
from memex.api.local_evals import LocalEvals
from memex.api.protocol import Document
from memex.call_context import CallContext
from memex.service.journal import reading
from memex.service.projects import init_project
from memex.service.search import changes, explanation, topics
from memex.service.vaults import browsing


class LocalBrowsing(LocalEvals):
    """Folders and files, changes, and why a search shows a file, as a caller may ask for them."""

    @property
    def documents(self) -> LocalDocuments:
        """What can be asked about documents."""
        return LocalDocuments(self.caller)

    async def browse(self, context: CallContext, arguments: Mapping[str, Any]) -> Document:
        """Return mounts, the folders below a prefix, and the files that pass filters."""
        service, caller = await self.caller(context, browsing.NAME)
        found = await browsing.browse(service, caller, dict(arguments), tool_call_id=context.tool_call_id)
        return found.model_dump(mode="json")

    async def changes(
        self, context: CallContext, *, limit: int = 50, until: datetime | str | None = None
    ) -> Document:
        """Return the newest changes of all mounts, the newest first."""
        service, caller = await self.caller(context, changes.CHANGES)
        found = await changes.show_changes(
            service, caller, limit=limit, until=until, tool_call_id=context.tool_call_id
        )
        return found.model_dump(mode="json")

    async def journal(self, context: CallContext, arguments: Mapping[str, Any]) -> Document:
        """Return the months of the journal, and the days of a month or the entries of a day."""
        service, caller = await self.caller(context, reading.NAME)
        found = await reading.read_journal(
            service, caller, dict(arguments), tool_call_id=context.tool_call_id
        )
        return found.model_dump(mode="json")

    async def topics(self, context: CallContext, *, project: str | None = None, limit: int = 100) -> Document:
        """Return the tags of a project, or of all files, with how many files bear each."""
        service, caller = await self.caller(context, topics.TOPICS)
        given = {"project": project, "limit": limit}
        found = await topics.show_topics(service, caller, given, tool_call_id=context.tool_call_id)
        return found.model_dump(mode="json")

    async def init_project(self, context: CallContext, slug: str) -> Document:
        """Make a project of which the user is a member, where agents may."""
        service, caller = await self.caller(context, init_project.NAME)
        made = await init_project.init_project(
            service, caller, {"slug": slug}, tool_call_id=context.tool_call_id
        )
        return made.model_dump(mode="json")

    async def explain_find(self, context: CallContext, arguments: Mapping[str, Any]) -> Document:
        """Return why a search with these arguments shows the file at `path`, or does not."""
        service, caller = await self.caller(context, explanation.EXPLAIN_FIND.name)
        return await explanation.explain_search(
            service, caller, dict(arguments), tool_call_id=context.tool_call_id
        )
