"""JSON Schema, by a library that takes two seconds to load: a test waits for it, and no worker that has none."""

from collections.abc import Mapping
from typing import Any


def validate(instance: Any, schema: Mapping[str, Any]) -> None:
    """Raise jsonschema's ValidationError unless a value is as a schema says."""
    from jsonschema import Draft202012Validator

    Draft202012Validator(schema).validate(instance)


def check(schema: Mapping[str, Any]) -> None:
    """Raise jsonschema's SchemaError unless a schema is one."""
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(schema)
