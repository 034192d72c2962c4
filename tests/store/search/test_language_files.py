"""Files in several languages: each scope's are read in its own."""

from collections.abc import Awaitable, Callable

import pytest
from tests.kit.memory import put

from memex.call_context import CallContext
from memex.errors import ValidationFailed
from memex.service.service import Caller, Service
from memex.settings import Settings
from memex.store.memory import Memory
from memex.wiring import running_service

CallerOf = Callable[..., Awaitable[Caller]]


async def find(service: Service, caller: Caller, query: str) -> list[tuple[str, set[str]]]:
    """Return path and lexemes of each hit."""
    async with service.database.transaction(caller.access, snapshot=True) as connection:
        found = await Memory(connection, caller.access).find(query)
    return [(hit.path, set(hit.match.terms)) for hit in found.hits]


@pytest.mark.parametrize(
    ("language", "text", "query", "lexemes"),
    [
        ("german", "Die Häuser am See", "Haus", {"haus"}),
        ("french", "Les élèves chantaient", "chanter", {"chant"}),
        ("spanish", "Los niños corrían", "niño", {"nin"}),
        ("russian", "Мы купили красивые книги", "красивая книга", {"красив", "книг"}),
        ("neutral", "running runs", "running", {"running"}),
    ],
)
async def test_new_users_files_are_read_in_the_language_of_the_service(
    service: Service, caller_of: CallerOf, language: str, text: str, query: str, lexemes: set[str]
) -> None:
    """Inflected forms are found in the language that the service is set to."""
    caller = await caller_of("alice")
    other = Service(service.database, max_files=100, language=language)
    new = await other.caller(caller.principal, CallContext(user_id="heidi"), makes_user=True)
    await put(other, new, {"user/a.md": text})

    assert await find(other, new, query) == [("user/a.md", lexemes)]


async def test_scopes_of_two_languages_are_searched_together(service: Service, caller_of: CallerOf) -> None:
    """A query is read once in each language, and each scope answers to its own reading."""
    admin = await caller_of("root", role="admin")
    await put(service, admin, {"shared/houses.md": "The houses of our engineers stand here."})
    german = Service(service.database, max_files=100, language="german")
    heidi = await german.caller(
        (await caller_of("alice")).principal, CallContext(user_id="heidi"), makes_user=True
    )
    await put(german, heidi, {"user/a.md": "Die Häuser unserer Ingenieure stehen hier."})

    assert heidi.access.by_mount["user"].language == "german"
    assert heidi.access.by_mount["shared"].language == "english"
    found = await find(german, heidi, "Häuser houses here hier")
    assert dict(found) == {
        "user/a.md": {"haus"},
        "shared/houses.md": {"hous"},
    }


async def test_an_unknown_language_is_refused_at_the_start() -> None:
    """The error names the setting and lists what there is."""
    with pytest.raises(ValidationFailed, match="MEMEX_LANGUAGE") as refused:
        async with running_service(Settings(language="klingon")):
            pass

    assert "german" in str(refused.value.hint)
