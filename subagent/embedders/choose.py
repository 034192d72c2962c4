"""An embedder by its name, as MEMEX_EMBEDDER gives it."""

import re

from memex.errors import ValidationFailed
from memex.subagent.embedders.embedder import Embedder

_NAME = re.compile(
    r"(?P<provider>[a-z]+)(?::(?P<model>[^#\s]+?))?(?:@(?P<dimensions>[1-9]\d{0,4}))?(?:#(?P<revision>[\w.-]{1,40}))?"
)


def choose(name: str, *, api_key: str | None = None, base_url: str | None = None) -> Embedder:
    """Return the embedder of a name: `openai:MODEL`, `openai:MODEL@DIMENSIONS`, `local` or `hash`.

    The name by which its vectors are stored is understood too.

    Args:
        name: such as `openai:text-embedding-3-small@512`. A `#label` behind it tells vectors of one name apart.
        api_key: of the provider.
        base_url: of a server that speaks as OpenAI's.

    Raises:
        ValidationFailed: no embedder has this name, or the packages that it needs are not installed.
    """
    given = _parts(name)
    dimensions = int(given["dimensions"]) if "dimensions" in given else None
    embedder: Embedder | None = None
    try:
        match given.get("provider"), given.get("model"):
            case "openai", str(model):
                from memex.subagent.embedders.remote import OpenAIEmbedder  # noqa: PLC0415  # of an extra

                embedder = OpenAIEmbedder(
                    model,
                    dimensions=dimensions,
                    revision=given.get("revision", ""),
                    api_key=api_key,
                    base_url=base_url,
                )
            case "local", _:
                from memex.subagent.embedders.local import LocalEmbedder  # noqa: PLC0415  # of an extra

                embedder = LocalEmbedder()
            case "hash", _:
                from memex.subagent.embedders.hashed import HashEmbedder  # noqa: PLC0415  # of an extra

                embedder = HashEmbedder(dimensions) if dimensions else HashEmbedder()
    except ModuleNotFoundError as error:
        extra = "local-embeddings" if given["provider"] == "local" else "vectors"
        raise ValidationFailed(
            f"The embedder {name} needs packages that are not installed: {error.name}.",
            hint=f'Install them: pip install "memex[{extra}]".',
        ) from None
    if embedder is None or not _parts(name).items() <= _parts(embedder.name).items():
        known = "openai:MODEL, openai:MODEL@DIMENSIONS, local, hash"
        raise ValidationFailed(f"There is no embedder {name!r}.", hint=f"Name one of: {known}.")
    return embedder


def _parts(name: str) -> dict[str, str]:
    """Return what a name says: the provider, and the model, dimensions and revision that it gives."""
    match = _NAME.fullmatch(name)
    return {part: said for part, said in match.groupdict().items() if said} if match else {}
