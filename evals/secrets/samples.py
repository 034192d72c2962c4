"""The texts to measure on: made-up secrets in contexts of real notes, and real lines without a secret."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memex.evals.secrets import formats, sentences
from memex.evals.secrets.formats import Maker
from memex.evals.secrets.sentences import Phrases

SEED = 20_261_124
EACH = 4  # texts for each kind of token, half tuned and half held out for each

# Around a token that tells by itself what it is.
TUNED = ("{s}", "The {kind} is `{s}`.", "export TOKEN={s}", '  "token": "{s}",')
HELD_OUT = (
    "Ana sent me {s} for the deployment.",
    "client = Client('{s}')",
    "| {kind} | {s} |",
    "curl -H 'X-Auth: {s}' https://api.example.net/v1",
)
# Around a value with its name.
TUNED_LINES = ("{s}", "```\n{s}\n```", "  {s}", "Set this on the server:\n{s}\nand restart.")
HELD_OUT_LINES = ("- {s}", "# staging\n{s}\nDEBUG=false", "> {s}", "In the file stands\n\n    {s}\n")


@dataclass(frozen=True, slots=True)
class Sample:
    """A text with one secret: `secret` is what must not be left of it."""

    kind: str
    text: str
    secret: str
    is_held_out: bool

    @property
    def pieces(self) -> list[str]:
        """The lines of the secret that give something away: not the frame of a key."""
        return [line for line in self.secret.splitlines() if line and not line.startswith("-----")]


def samples(seed: int = SEED) -> Iterator[Sample]:
    """Yield the texts with secrets, the same ones for the same seed."""
    rng = random.Random(seed)  # noqa: S311  # no secret of anybody's
    for kind, maker in formats.TOKENS.items():
        yield from _tokens(rng, kind, maker, TUNED, is_held_out=False)
        yield from _tokens(rng, kind, maker, HELD_OUT, is_held_out=True)
    for kind, maker in formats.NAMED.items():
        yield from _tokens(rng, kind, maker, TUNED_LINES, is_held_out=False)
        yield from _tokens(rng, kind, maker, HELD_OUT_LINES, is_held_out=True)
    phrasings: Sequence[tuple[str, Mapping[str, Phrases]]] = (
        ("password", sentences.PASSWORDS),
        ("login", sentences.LOGINS),
        ("pin", sentences.PINS),
    )
    for kind, by_language in phrasings:
        for language, phrases in by_language.items():
            for is_held_out, chosen in ((False, phrases.tuned), (True, phrases.held_out)):
                for phrase in chosen:
                    for _ in range(2):
                        value = sentences.pin(rng) if kind == "pin" else sentences.password(rng)
                        text = phrase.format(s=value, n=value)
                        yield Sample(f"{language} {kind}", text, value, is_held_out)


def _tokens(
    rng: random.Random, kind: str, maker: Maker, contexts: Sequence[str], *, is_held_out: bool
) -> Iterator[Sample]:
    for context in contexts[:EACH]:
        made = maker(rng)
        text = context.replace("{kind}", kind).replace("{s}", made)
        yield Sample(kind, text, _value(kind, made), is_held_out)


def _value(kind: str, made: str) -> str:
    """Return the part of a made text that is the secret itself."""
    if kind == "connection url":
        return made.split("://", 1)[1].split("@", 1)[0].split(":", 1)[1]
    if kind == "azure storage key":
        return made.split("AccountKey=", 1)[1].split(";", 1)[0]
    if kind == "one-time password url":
        return made.split("secret=", 1)[1].split("&", 1)[0]
    if kind.endswith("webhook"):
        return made.split("/services/" if kind.startswith("slack") else "/webhooks/", 1)[1]
    if kind in formats.NAMED:
        return made.rsplit(maxsplit=1)[-1].strip('"') if " " in made else made.split("=", 1)[1]
    return made
