"""Choices of a caller beside the arguments of an operation: filters, limits, changes."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from memex.errors import ValidationFailed
from memex.service.tools.tool import describe_problem


class CallerChoice(BaseModel):
    """A choice of a caller, by names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def of(cls, **given: Any) -> Self:
        """Return a choice by names; raises ValidationFailed for what cannot be one."""
        try:
            return cls(**given)
        except ValidationError as error:
            raise ValidationFailed(f"{describe_problem(error.errors()[0])}.") from None
