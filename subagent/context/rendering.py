"""The rendering of stored text in a context: hidden characters by code points, remote images by words. Pure.

Rendering changes what a context shows, and nothing else: spans and digests are those of the stored text.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from memex.store.writes.hidden_characters import reveal_hidden
from memex.subagent.context.assembly import FORMAT, VERBATIM_FORMAT
from memex.subagent.context.images import without_remote_images

ImageSetting = Literal["alt", "keep"]

IMAGES = "images"  # the name of the setting in the log of a call

_FORMAT = re.compile(r"\bmemex-context-\d{1,4}\b", re.ASCII)


@dataclass(frozen=True, slots=True)
class Rendering:
    """The way in which a call shows stored text.

    Attributes:
        format: the version of the format of a context.
        images: whether remote images become their words (`alt`), or stay (`keep`).
    """

    format: str = FORMAT
    images: ImageSetting = "alt"

    @property
    def config(self) -> dict[str, Any]:
        """The settings that the log of a call keeps of the rendering, beside the format."""
        return {} if self.images == "alt" else {IMAGES: self.images}

    def render(self, text: str) -> str:
        """Return a stored text as a context shows it."""
        if self.format == VERBATIM_FORMAT:
            return text
        return reveal_hidden(text if self.images == "keep" else without_remote_images(text))


def shown_chars(text: str) -> int:
    """Return how many characters a stored text has in a context: hidden ones are shown by their code points."""
    return len(reveal_hidden(text))


RENDERING = Rendering()  # of a service whose settings say nothing else


def logged_rendering(engine: str, config: Mapping[str, Any] | None) -> Rendering:
    """Return how a call showed stored text, by the engine and the configuration that were logged with it."""
    named = _FORMAT.search(engine)
    return Rendering(named[0] if named else FORMAT, (config or {}).get(IMAGES, "alt"))
