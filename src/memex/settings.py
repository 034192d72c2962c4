"""Every environment variable, in one frozen class, read once at start."""

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from memex.errors import ValidationFailed

SearchMode = Literal["bm25", "hybrid", "auto"]
ModelMode = Literal["auto", "tools", "single"]


class Settings(BaseSettings):
    """How this Memex runs. Each field is the environment variable in its alias; an empty one counts as unset."""

    model_config = SettingsConfigDict(
        frozen=True, extra="ignore", env_ignore_empty=True, populate_by_name=True
    )

    url: str | None = Field(
        None,
        validation_alias="MEMEX_URL",
        description="A running Memex that the commands and the Python API ask instead of a database.",
    )
    api_key: SecretStr | None = Field(None, validation_alias="MEMEX_API_KEY", description="The key for it.")
    database_url: str | None = Field(
        None,
        validation_alias="DATABASE_URL",
        description="A Postgres ≥ 15 to use instead of the embedded one.",
    )
    data_dir: Path | None = Field(
        None,
        validation_alias="MEMEX_DATA_DIR",
        description="Where the embedded Postgres keeps its data; ~/.memex, for root /var/lib/memex.",
    )
    pg_bin_dir: Path | None = Field(
        None, validation_alias="PG_BIN_DIR", description="Postgres binaries for the embedded server."
    )
    pg_port: int | None = Field(
        None,
        validation_alias="MEMEX_PG_PORT",
        ge=1,
        le=65_535,
        description="Lets the embedded Postgres listen on this port of 127.0.0.1 too; no TCP by default.",
    )
    host: str = Field("127.0.0.1", validation_alias="MEMEX_HOST", description="Where the service listens.")
    port: int = Field(
        8630, validation_alias="MEMEX_PORT", ge=0, le=65_535, description="On which port; 0 picks a free one."
    )
    allowed_hosts: str | None = Field(
        None,
        validation_alias="MEMEX_ALLOWED_HOSTS",
        description="Names beside localhost and MEMEX_HOST by which /mcp may be called, by commas; * for any.",
    )
    oauth_issuer: str | None = Field(
        None,
        validation_alias="MEMEX_OAUTH_ISSUER",
        description="The authorization server that /mcp names to clients; what it issues must be keys of Memex.",
    )
    max_connections: int = Field(
        10,
        validation_alias="MEMEX_MAX_CONNECTIONS",
        ge=1,
        le=1_000,
        description="Database connections at most.",
    )
    max_files: int = Field(
        10_000, validation_alias="MEMEX_MAX_FILES", ge=1, description="Files that one scope may hold."
    )
    language: str = Field(
        "english",
        validation_alias="MEMEX_LANGUAGE",
        description="In which language new users' files are searched, such as german; neutral for none.",
    )
    search_mode: Literal["bm25", "hybrid", "auto"] = Field(
        "auto",
        validation_alias="MEMEX_SEARCH_MODE",
        description="By what files are found: bm25 by words, hybrid by meaning too; auto by what there is.",
    )
    embedder: str | None = Field(
        None,
        validation_alias="MEMEX_EMBEDDER",
        description="What makes vectors of texts: openai:MODEL, openai:MODEL@DIMENSIONS or local; none by default.",
    )
    embedding_workers: int = Field(
        1,
        validation_alias="MEMEX_EMBEDDING_WORKERS",
        ge=1,
        le=32,
        description="Scopes that one process embeds at a time.",
    )
    model: str = Field(
        "builtin",
        validation_alias="MEMEX_MODEL",
        description="What plans: builtin by rules, or a chat model such as openai:MODEL or anthropic:MODEL.",
    )
    context_model: str | None = Field(
        None, validation_alias="MEMEX_CONTEXT_MODEL", description="Another one for memory_context."
    )
    remember_model: str | None = Field(
        None, validation_alias="MEMEX_REMEMBER_MODEL", description="Another one for memory_remember."
    )
    model_api: Literal["chat", "responses"] = Field(
        "chat", validation_alias="MEMEX_MODEL_API", description="How openai:MODEL is spoken to."
    )
    model_mode: ModelMode = Field(
        "auto",
        validation_alias="MEMEX_MODEL_MODE",
        description="tools: it may search for more; single: one answer over what was found; auto: by what it can.",
    )
    model_requests: int = Field(
        6,
        validation_alias="MEMEX_MODEL_REQUESTS",
        ge=1,
        le=100,
        description="Requests to the model in one call.",
    )
    model_tool_calls: int = Field(
        24,
        validation_alias="MEMEX_MODEL_TOOL_CALLS",
        ge=0,
        le=400,
        description="Tool calls of the model in one call.",
    )
    model_input_tokens: int = Field(
        200_000,
        validation_alias="MEMEX_MODEL_INPUT_TOKENS",
        ge=1,
        description="Tokens that the model reads in one call.",
    )
    model_output_tokens: int = Field(
        16_000,
        validation_alias="MEMEX_MODEL_OUTPUT_TOKENS",
        ge=1,
        description="Tokens that the model writes in one call.",
    )
    model_seconds: float = Field(
        60,
        validation_alias="MEMEX_MODEL_SECONDS",
        gt=0,
        le=3_600,
        description="Seconds that the model may take in one call.",
    )
    model_writes: int = Field(
        50, validation_alias="MEMEX_MODEL_WRITES", ge=1, le=1_000, description="Edits of one memory_remember."
    )
    model_usd: float | None = Field(
        None, validation_alias="MEMEX_MODEL_USD", gt=0, description="US dollars that one call may cost."
    )
    daily_usd: float | None = Field(
        None,
        validation_alias="MEMEX_DAILY_USD",
        gt=0,
        description="US dollars that a tenant may cost a day (UTC).",
    )
    model_price: str | None = Field(
        None,
        validation_alias="MEMEX_MODEL_PRICE",
        pattern=r"^\d+(\.\d+)?/\d+(\.\d+)?$",
        description="US dollars for a million tokens read/written, such as 0.15/0.60; else the known list price.",
    )
    prompts_dir: Path | None = Field(
        None,
        validation_alias="MEMEX_PROMPTS_DIR",
        description="A folder whose context.md, remember.md and block.md go before those of Memex.",
    )
    trace_content: bool = Field(
        False,
        validation_alias="MEMEX_TRACE_CONTENT",
        description="Put queries, texts and answers, also of models, into OpenTelemetry spans.",
    )
    otel_endpoint: str | None = Field(
        None,
        validation_alias="OTEL_EXPORTER_OTLP_ENDPOINT",
        description="Where OpenTelemetry spans go, such as http://127.0.0.1:4318; nowhere by default.",
    )
    otel_traces_endpoint: str | None = Field(
        None,
        validation_alias="OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        description="The same by its whole address, such as http://127.0.0.1:4318/v1/traces.",
    )
    queue_workers: int = Field(
        2,
        validation_alias="MEMEX_QUEUE_WORKERS",
        ge=1,
        le=32,
        description="Queued texts remembered at a time.",
    )
    openai_api_key: SecretStr | None = Field(
        None, validation_alias="OPENAI_API_KEY", description="For openai:MODEL."
    )
    openai_base_url: str | None = Field(
        None,
        validation_alias="OPENAI_BASE_URL",
        description="Of a server that speaks as OpenAI's, such as http://127.0.0.1:11434/v1.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", validation_alias="MEMEX_LOG_LEVEL", description="The least severe log lines that are written."
    )


def read_settings() -> Settings:
    """Return the settings of this process's environment.

    Raises:
        ValidationFailed: naming the variable that does not fit.
    """
    try:
        return Settings()
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise ValidationFailed(
            f"{problem['loc'][0]}: {problem['msg']}.", hint="Correct or unset it."
        ) from None
