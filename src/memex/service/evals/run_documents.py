"""Documents of runs: what the file of a run of cases or of questions has in common."""

from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from memex.errors import ValidationFailed

FORMAT = 1


class RunDocument(BaseModel):
    """A part of a run's file; a field that this version does not know is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class RunFile(RunDocument):
    """A whole run, with the format of its file."""

    format: int


R = TypeVar("R", bound=RunFile)


def parse_run(text: str | bytes, name: str, kind: type[R]) -> R:
    """Return the run that a JSON text holds; raises ValidationFailed, naming it, when it holds no such run."""
    try:
        run = kind.model_validate_json(text)
    except ValidationError:
        raise ValidationFailed(
            f"{name} holds no run of this kind.", hint="Name one that a run wrote."
        ) from None
    if run.format != FORMAT:
        raise ValidationFailed(f"{name} is of format {run.format}, not {FORMAT}.", hint="Make the run again.")
    return run
