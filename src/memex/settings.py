"""Every setting of Memex, in one frozen class. Settings are environment variables, read once at start."""

import os
import re
import tomllib
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from memex.errors import ValidationFailed

SearchMode = Literal["bm25", "hybrid", "auto"]
FindMode = Literal["bm25", "hybrid", "auto", "vectors"]  # of one search
ModelMode = Literal["auto", "tools", "single"]
IncludedName = Literal["conversations", "documents"]  # what a context can hold beside memory
_OTHERS = re.compile(
    "CONFIG|PROJECT|AGENT_KEY|DB_PASSWORD|CI|COMPLETE|EVAL_DATA|(?:TEST|SERVICE|PORT)_.+"
)  # no settings
Band = Literal["none", "weak", "fair", "strong"]  # how sure it is that memory answers
MAX_MODEL_SECONDS = 3_600
INCLUDED_NAMES: tuple[IncludedName, ...] = get_args(IncludedName)
Include = Sequence[IncludedName] | None  # what a host includes; None for what the settings say


def parse_included(text: str, source: str) -> tuple[IncludedName, ...]:
    """Return the kinds that a text names, separated by commas, each once.

    Args:
        text: such as `conversations`; an empty text names none.
        source: where the text comes from, for the message of an error.

    Raises:
        ValidationFailed: the text names a kind that there is not.
    """
    named = dict.fromkeys(name for part in text.split(",") if (name := part.strip()))
    if unknown := [name for name in named if name not in INCLUDED_NAMES]:
        raise ValidationFailed(
            f"{source}: there is no {unknown[0][:100]!r}.", hint=f"There are: {', '.join(INCLUDED_NAMES)}."
        )
    return tuple(name for name in INCLUDED_NAMES if name in named)


def parse_model_seconds(text: str) -> tuple[float, float]:
    """Return how long a model may take for a context, and for anything else.

    Args:
        text: as MEMEX_MODEL_SECONDS has it: `8/60`, or one number for both.
    """
    first, _, second = text.partition("/")
    return float(first), float(second or first)


def _check_model_seconds(text: str) -> str:
    if not all(0 < second <= MAX_MODEL_SECONDS for second in parse_model_seconds(text)):
        raise ValueError(f"each number must be above 0, up to {MAX_MODEL_SECONDS:,}")
    return text


class Settings(BaseSettings):
    """The settings of a process. A field's alias is its environment variable; an empty variable counts as unset."""

    # Fields are set by name in Python. In the environment only the aliases count: without the prefix, which no
    # variable has, `LANGUAGE=en_US:en` of a desktop would be a setting.
    model_config = SettingsConfigDict(
        frozen=True,
        extra="ignore",
        env_ignore_empty=True,
        populate_by_name=True,
        env_prefix="memex-field-",
    )

    url: str | None = Field(
        None,
        validation_alias="MEMEX_URL",
        description="The URL of a running Memex service. If set, the commands and the Python API call this "
        "service instead of opening a database. Commands that need the database itself then refuse to run.",
    )
    api_key: SecretStr | None = Field(
        None, validation_alias="MEMEX_API_KEY", description="The API key for the service at MEMEX_URL."
    )
    database_url: str | None = Field(
        None,
        validation_alias="DATABASE_URL",
        description="The connection URL of a Postgres server, version 15 or newer. If not set, Memex starts its "
        "embedded Postgres.",
    )
    agent_database_url: str | None = Field(
        None,
        validation_alias="MEMEX_AGENT_DATABASE_URL",
        description="The database of DATABASE_URL with a second login, which owns nothing: the calls of agents run "
        "by it. If not set, one login does everything.",
    )
    data_dir: Path | None = Field(
        None,
        validation_alias="MEMEX_DATA_DIR",
        description="The folder in which the embedded Postgres stores its data. The default is ~/.memex, or "
        "/var/lib/memex for root.",
    )
    pg_bin_dir: Path | None = Field(
        None,
        validation_alias="PG_BIN_DIR",
        description="The folder of the Postgres programs (initdb, postgres) that the embedded Postgres uses. The "
        "default is the programs that the extra `embedded` installs.",
    )
    pg_port: int | None = Field(
        None,
        validation_alias="MEMEX_PG_PORT",
        ge=1,
        le=65_535,
        description="A TCP port of 127.0.0.1 on which the embedded Postgres also listens. By default it does not "
        "use TCP.",
    )
    host: str = Field(
        "127.0.0.1",
        validation_alias="MEMEX_HOST",
        description="The host name or IP address on which the service listens.",
    )
    port: int = Field(
        8630,
        validation_alias="MEMEX_PORT",
        ge=0,
        le=65_535,
        description="The port on which the service listens; 0 chooses a free port.",
    )
    workers: int | None = Field(
        None,
        validation_alias="MEMEX_WORKERS",
        ge=1,
        le=64,
        description="The number of processes that answer requests in memex serve. The default is the number of "
        "cores, at most 4 and at most MEMEX_MAX_CONNECTIONS.",
    )
    allowed_hosts: str | None = Field(
        None,
        validation_alias="MEMEX_ALLOWED_HOSTS",
        description="Host names under which clients may call /mcp and open /ui, separated by commas, in addition "
        "to localhost and MEMEX_HOST; * allows every name.",
    )
    metrics_key: SecretStr | None = Field(
        None,
        validation_alias="MEMEX_METRICS_KEY",
        min_length=16,
        description="The key with which GET /metrics shows the numbers of the whole service. If it is not set, "
        "programs on the same machine need none.",
    )
    http_connections: int = Field(
        1_000,
        validation_alias="MEMEX_HTTP_CONNECTIONS",
        ge=1,
        le=100_000,
        description="The largest number of HTTP connections that one process keeps. A request on one more is "
        "answered 503.",
    )
    health_port: int | None = Field(
        None,
        validation_alias="MEMEX_HEALTH_PORT",
        ge=1,
        le=65_535,
        description="A second port of MEMEX_HOST that answers `/health/live` and `/health/ready` alone, for "
        "probes: no crowd at the other port stands before them. Let nobody else reach it.",
    )
    rate_requests: str | None = Field(
        None,
        validation_alias="MEMEX_RATE_REQUESTS",
        description="How many requests each key, user or tenant may send, such as user:600/min,tenant:10k/min. By "
        "default there is no limit.",
    )
    rate_writes: str | None = Field(
        None,
        validation_alias="MEMEX_RATE_WRITES",
        description="How many writes each key, user or tenant may send, in the same form. A batch counts its "
        "edits, and an import its files.",
    )
    rate_bytes: str | None = Field(
        None,
        validation_alias="MEMEX_RATE_BYTES",
        description="How many bytes of text each key, user or tenant may send with writes, in the same form, such "
        "as user:10M/h.",
    )
    oauth_issuer: str | None = Field(
        None,
        validation_alias="MEMEX_OAUTH_ISSUER",
        description="The URL of an OAuth authorization server of yours whose tokens are Memex API keys; "
        "/mcp announces the URL to clients. Memex does not accept other tokens, such as JWTs: leave this unset "
        "if your server issues them.",
    )
    max_connections: int = Field(
        10,
        validation_alias="MEMEX_MAX_CONNECTIONS",
        ge=1,
        le=1_000,
        description="The largest number of database connections that the requests of one service use; the workers "
        "of memex serve share them out. The background jobs of memex serve use up to two more, or up to four more "
        "if an embedder is set.",
    )
    pooler: Literal["auto", "none", "transaction"] = Field(
        "auto",
        validation_alias="MEMEX_POOLER",
        description="Whether DATABASE_URL leads through a pooler such as PgBouncer: auto (Memex notices a pooler, "
        "and then prepares no statements), none (Memex refuses to start behind a pooler), transaction (there is a "
        "pooler, even if Memex does not notice it).",
    )
    max_database_bytes: int | None = Field(
        None,
        validation_alias="MEMEX_MAX_DATABASE_BYTES",
        ge=1 << 20,
        description="The size of the database in bytes from which on nothing is stored any more (DISK_LOW). Leave "
        "512 MB more on its disk, for deletions and the log. The free space on the disk of the embedded Postgres "
        "is watched anyway.",
    )
    user_concurrency: int | None = Field(
        None,
        validation_alias="MEMEX_USER_CONCURRENCY",
        ge=1,
        le=1_000,
        description="The largest number of database connections that the calls of one user use at the same time in "
        "one worker; further calls of the user wait. The default is twice the number of cores, divided by "
        "the number of workers, and 3 at least.",
    )
    lock_seconds: float = Field(
        5,
        validation_alias="MEMEX_LOCK_SECONDS",
        gt=0,
        le=60,
        description="The longest time that a call waits for a lock of the database, such as the one that each "
        "write to the same memory takes. After it the call fails with SCOPE_BUSY.",
    )
    statement_seconds: float = Field(
        30,
        validation_alias="MEMEX_STATEMENT_SECONDS",
        gt=0,
        le=3_600,
        description="The longest time that one statement of a call may take in the database.",
    )
    migrate_seconds: float | None = Field(
        None,
        validation_alias="MEMEX_MIGRATE_SECONDS",
        gt=0,
        le=86_400,
        description="The longest time that memex service migrate and memex serve wait for a lock before they "
        "give up updating the schema. By default they wait until they have it, and log what they wait for.",
    )
    max_files: int = Field(
        10_000,
        validation_alias="MEMEX_MAX_FILES",
        ge=1,
        description="The largest number of files in one scope (the memory of one user or one project, or the "
        "shared files).",
    )
    max_messages: int = Field(
        2_000_000,
        validation_alias="MEMEX_MAX_MESSAGES",
        ge=1,
        le=100_000_000,
        description="The largest number of messages that the imported conversations of one user may have together.",
    )
    max_documents: int = Field(
        200_000,
        validation_alias="MEMEX_MAX_DOCUMENTS",
        ge=1,
        le=100_000_000,
        description="The largest number of documents that one user, or one project, may have.",
    )
    max_document_bytes: int = Field(
        2_000_000_000,
        validation_alias="MEMEX_MAX_DOCUMENT_BYTES",
        ge=1,
        description="The largest size of the texts of all documents of one user, or of one project.",
    )
    conversation_days: int | None = Field(
        None,
        validation_alias="MEMEX_CONVERSATION_DAYS",
        ge=1,
        le=36_500,
        description="`memex serve` deletes imported conversations that ended more than this number of days ago, "
        "as `memex conversations delete` does. By default Memex keeps them.",
    )
    max_upload_bytes: int = Field(
        2 << 30,
        validation_alias="MEMEX_MAX_UPLOAD_BYTES",
        ge=1 << 10,
        le=2 << 30,
        description="The largest export of conversations, in bytes, that a person may upload in the web UI. "
        "`memex conversations ingest` reads larger ones.",
    )
    upload_dir: Path | None = Field(
        None,
        validation_alias="MEMEX_UPLOAD_DIR",
        description="The folder in which uploaded exports lie until they are read. The default is a folder below "
        "TMPDIR, or below /var/tmp.",
    )
    language: str = Field(
        "english",
        validation_alias="MEMEX_LANGUAGE",
        description="The language of new users' files, such as german. Search treats the word forms of this "
        "language as one word. The value neutral turns this off. The languages are arabic, armenian, basque, "
        "catalan, czech, danish, dutch, english, esperanto, estonian, finnish, french, german, greek, hindi, "
        "hungarian, indonesian, irish, italian, lithuanian, nepali, norwegian, persian, polish, portuguese, "
        "romanian, russian, serbian, sesotho, spanish, swedish, tamil, turkish and yiddish.",
    )
    search_mode: Literal["bm25", "hybrid", "auto"] = Field(
        "auto",
        validation_alias="MEMEX_SEARCH_MODE",
        description="How search works: bm25 (words), hybrid (words and vectors), auto (hybrid if an embedder is "
        "configured).",
    )
    embedder: str | None = Field(
        "auto",
        validation_alias="MEMEX_EMBEDDER",
        description="The model that makes vectors: auto (local where the extra `local-embeddings` is installed), "
        "none, local, local-multilingual, openai:MODEL, openai:MODEL@DIMENSIONS, or hash for tests; a #label may "
        "follow its name.",
    )
    embed_conversations: bool | None = Field(
        default=None,
        validation_alias="MEMEX_EMBED_CONVERSATIONS",
        description="Whether `memex serve` also embeds imported conversations, in the background and the newest "
        "first; by default if the model runs on this machine. `memex conversations backfill` beside the database "
        "always embeds them.",
    )
    embedding_workers: int = Field(
        1,
        validation_alias="MEMEX_EMBEDDING_WORKERS",
        ge=1,
        le=32,
        description="The number of scopes that one process embeds at the same time.",
    )
    model: str = Field(
        "builtin",
        validation_alias="MEMEX_MODEL",
        description="The planner, which decides what a context contains and what is remembered: builtin (rules) "
        "or a chat model such as openai:MODEL or anthropic:MODEL.",
    )
    context_model: str | None = Field(
        None,
        validation_alias="MEMEX_CONTEXT_MODEL",
        description="The planner for memory_context, if it differs from MEMEX_MODEL.",
    )
    remember_model: str | None = Field(
        None,
        validation_alias="MEMEX_REMEMBER_MODEL",
        description="The planner for memory_remember, if it differs from MEMEX_MODEL.",
    )
    dream_model: str | None = Field(
        None,
        validation_alias="MEMEX_DREAM_MODEL",
        description="The model that proposes more edits in a dream, behind those of the rules; by default none.",
    )
    model_api: Literal["chat", "responses"] = Field(
        "chat",
        validation_alias="MEMEX_MODEL_API",
        description="The API that Memex uses for openai:MODEL: chat (Chat Completions) or responses (Responses).",
    )
    model_mode: ModelMode = Field(
        "auto",
        validation_alias="MEMEX_MODEL_MODE",
        description="How Memex asks the model: tools (the model may call search tools), single (the model gives "
        "one answer from the first search results), auto (tools, or single if the model cannot use "
        "tools).",
    )
    model_pick: float = Field(
        0.1,
        validation_alias="MEMEX_MODEL_PICK",
        ge=0,
        le=100,
        description="How much a line gains that the model picks for a context; a line that fits well has about 1. "
        "0 leaves the choice to the rules, 100 puts all picked lines first.",
    )
    model_lead: float = Field(
        0.0,
        validation_alias="MEMEX_MODEL_LEAD",
        ge=0,
        description="By how much the best line of a context must lead the next one for the model not to be asked, "
        "such as 0.3: the rules are sure then. 0 asks the model always.",
    )
    model_requests: int = Field(
        6,
        validation_alias="MEMEX_MODEL_REQUESTS",
        ge=1,
        le=100,
        description="The largest number of requests to the model in one call.",
    )
    model_tool_calls: int = Field(
        24,
        validation_alias="MEMEX_MODEL_TOOL_CALLS",
        ge=0,
        le=400,
        description="The largest number of tool calls that the model may make in one call.",
    )
    model_input_tokens: int = Field(
        200_000,
        validation_alias="MEMEX_MODEL_INPUT_TOKENS",
        ge=1,
        description="The largest number of tokens that the model may read in one call.",
    )
    model_output_tokens: int = Field(
        16_000,
        validation_alias="MEMEX_MODEL_OUTPUT_TOKENS",
        ge=1,
        description="The largest number of tokens that the model may write in one call.",
    )
    model_seconds: Annotated[str, AfterValidator(_check_model_seconds)] = Field(
        "8/60",
        validation_alias="MEMEX_MODEL_SECONDS",
        pattern=r"^\d+(\.\d+)?(/\d+(\.\d+)?)?$",
        coerce_numbers_to_str=True,
        description="The largest number of seconds that the model may take in one call: of memory_context, and "
        "of any other, such as 8/60. One number holds for both. Each is above 0, up to 3,600.",
    )
    model_writes: int = Field(
        50,
        validation_alias="MEMEX_MODEL_WRITES",
        ge=1,
        le=1_000,
        description="The largest number of edits that the model may make in one memory_remember call.",
    )
    model_usd: float | None = Field(
        None,
        validation_alias="MEMEX_MODEL_USD",
        gt=0,
        description="The limit on the costs of the chat model in one call, in US dollars.",
    )
    daily_usd: float | None = Field(
        None,
        validation_alias="MEMEX_DAILY_USD",
        gt=0,
        description="The limit on the costs of the chat models of one tenant per day (UTC), in US dollars. "
        "Embeddings are not counted.",
    )
    model_price: str | None = Field(
        None,
        validation_alias="MEMEX_MODEL_PRICE",
        pattern=r"^\d+(\.\d+)?/\d+(\.\d+)?$",
        description="The price of a million input tokens and a million output tokens in US dollars, such as "
        "0.15/0.60. The default is the known list price.",
    )
    prompts_dir: Path | None = Field(
        None,
        validation_alias="MEMEX_PROMPTS_DIR",
        description="A folder with your own context.md, remember.md or block.md. Each file "
        "replaces the prompt of the same name.",
    )
    eval_runs: Path = Field(
        Path("eval-runs"),
        validation_alias="MEMEX_EVAL_RUNS",
        description="The folder in which memex eval run keeps the results of runs. A relative path starts at the "
        "folder in which Memex is started.",
    )
    eval_cases: Path | None = Field(
        None,
        validation_alias="MEMEX_EVAL_CASES",
        description="The folder in which the service keeps test cases that administrators make of calls. If it is "
        "not set, cases can be downloaded only.",
    )
    erasure_ledger: Path | None = Field(
        None,
        validation_alias="MEMEX_ERASURE_LEDGER",
        description="The file that says, by salted digests, which words were erased. A database that was restored "
        "from a backup loses them again before the first answer. By default `erasures.jsonl` in the data folder.",
    )
    backup_dir: Path | None = Field(
        None,
        validation_alias="MEMEX_BACKUP_DIR",
        description="The folder in which `memex service backup create` writes, and of which `memex doctor` says "
        "how old the newest backup is. By default `backups` in the data folder.",
    )
    context_images: Literal["alt", "keep"] = Field(
        "alt",
        validation_alias="MEMEX_CONTEXT_IMAGES",
        description="How contexts show images whose address is on another host: alt (the words of the image) or "
        "keep (the image as it is stored). An application that displays a remote image tells its host whatever the "
        "address holds.",
    )
    agent_projects: bool = Field(
        False,
        validation_alias="MEMEX_AGENT_PROJECTS",
        description="Whether the key of an agent may make projects, with POST /v1/projects and the tool "
        "init_project. Without it administrators make them.",
    )
    context_include: str | None = Field(
        None,
        validation_alias="MEMEX_CONTEXT_INCLUDE",
        description="What contexts and memory_find hold beside memory if the caller does not say: conversations, "
        "documents, or both separated by a comma. By default they hold memory alone.",
    )
    context_min_confidence: Band = Field(
        "weak",
        validation_alias="MEMEX_CONTEXT_MIN_CONFIDENCE",
        description="The lowest confidence at which a context holds what was found, if the caller does not say: "
        "none, weak, fair or strong. Below it the context says that nothing is remembered about the question, and "
        "holds pinned files alone.",
    )
    trace_content: bool = Field(
        False,
        validation_alias="MEMEX_TRACE_CONTENT",
        description="Whether OpenTelemetry spans contain queries, texts and answers, including those of models.",
    )
    otel_endpoint: str | None = Field(
        None,
        validation_alias="OTEL_EXPORTER_OTLP_ENDPOINT",
        description="The base URL of the collector that receives OpenTelemetry spans, such as "
        "http://127.0.0.1:4318. By default no spans are sent.",
    )
    otel_traces_endpoint: str | None = Field(
        None,
        validation_alias="OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        description="The complete URL that receives OpenTelemetry spans, such as http://127.0.0.1:4318/v1/traces.",
    )
    journal: Literal["on", "off"] = Field(
        "on",
        validation_alias="MEMEX_JOURNAL",
        description="Whether memory_remember keeps each text, word for word, as an entry of the user's journal, "
        "and contexts choose among the lines of pages and entries alike.",
    )
    journal_days: int = Field(
        0,
        validation_alias="MEMEX_JOURNAL_DAYS",
        ge=0,
        le=36_500,
        description="`memex serve` removes entries of journals that were said more than this number of days ago, "
        "with all their versions. With 0, the default, Memex keeps them.",
    )
    thin_revisions: str = Field(
        "",
        validation_alias="MEMEX_THIN_REVISIONS",
        pattern=r"^([1-9]\d{0,3}[dwy])?$",
        description="The age, such as 1y, 52w or 400d, from which `memex serve` keeps of the versions of a file "
        "the last one of each day, and those that something names. Empty, the default, keeps all texts.",
    )
    max_journal_bytes: int = Field(
        1_000_000_000,
        validation_alias="MEMEX_JOURNAL_BYTES",
        ge=0,
        description="The largest size of the texts in the journal of one user. memory_remember refuses a text "
        "beyond it (QUOTA_EXCEEDED). With 0 there is no limit.",
    )
    queue_workers: int = Field(
        2,
        validation_alias="MEMEX_QUEUE_WORKERS",
        ge=1,
        le=32,
        description="The number of queued texts that one process works on at the same time.",
    )
    secrets_remember: Literal["redact", "flag", "refuse", "off"] = Field(
        "redact",
        validation_alias="MEMEX_SECRETS_REMEMBER",
        description="What happens to a secret in a text for memory_remember: redact (`[secret: kind]` stands in "
        "its place), flag (the answer says where it stands), refuse (the call fails), off (nobody looks).",
    )
    secrets_files: Literal["redact", "flag", "refuse", "off"] = Field(
        "flag",
        validation_alias="MEMEX_SECRETS_FILES",
        description="What happens to a secret in a text that is written to a file: redact, flag, refuse or off, as "
        "with MEMEX_SECRETS_REMEMBER.",
    )
    openai_api_key: SecretStr | None = Field(
        None, validation_alias="OPENAI_API_KEY", description="The API key for openai:MODEL."
    )
    openai_base_url: str | None = Field(
        None,
        validation_alias="OPENAI_BASE_URL",
        description="The base URL of another server with an OpenAI-compatible API, such as "
        "http://127.0.0.1:11434/v1.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info",
        validation_alias="MEMEX_LOG_LEVEL",
        description="The lowest severity of lines in the process log; debug writes no more than info at present.",
    )


def days_in(age: str) -> int:
    """Return how many days an age such as `1y`, `52w` or `400d` has; a year has 365."""
    return int(age[:-1]) * {"d": 1, "w": 7, "y": 365}[age[-1]]


def read_settings() -> Settings:
    """Return the settings of this process: those of the environment, then those of the user's file.

    Raises:
        ValidationFailed: a variable or a line of the file has an invalid value; the message names it.
    """
    given = _file_settings()
    try:
        return Settings(**given)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        name = str(problem["loc"][0])
        where = f"{config_file()}: settings.{name}" if name in given else name
        hint = "Correct the line." if name in given else "Correct the variable or unset it."
        raise ValidationFailed(f"{where}: {problem['msg']}.", hint=hint) from None


def config_file() -> Path:
    """Return the user's one file of settings, projects and folders, whether or not there is one."""
    return Path(os.environ.get("MEMEX_CONFIG") or Path.home() / ".memex" / "config.toml")


def read_config() -> dict[str, Any]:
    """Return what the user's file says; {} without one.

    Raises:
        ValidationFailed: the file is malformed.
    """
    path = config_file()
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValidationFailed(f"{path}: {error}.", hint="Repair the file, or move it away.") from None


def _file_settings() -> dict[str, Any]:
    """Return what the table `settings` of the file says, by the names of fields, but what a variable says."""
    found = read_config().get("settings", {})
    if not isinstance(found, dict):
        raise ValidationFailed(f"{config_file()}: settings is no table.", hint="Write [settings] above them.")
    if unknown := sorted(set(found) - set(Settings.model_fields)):
        raise ValidationFailed(
            f"{config_file()}: there is no setting {unknown[0][:100]!r}.",
            hint="The names are those of the variables, in small letters and without MEMEX_.",
        )
    variables = {name: str(one.validation_alias) for name, one in Settings.model_fields.items()}
    return {name: value for name, value in found.items() if not os.environ.get(variables[name])}


def unknown_settings() -> dict[str, str | None]:
    """Return variables that look like settings and are none of this version, each with a setting of a near name."""
    aliases = {str(one.validation_alias) for one in Settings.model_fields.values()}
    known = {alias.removeprefix("MEMEX_"): alias for alias in aliases}
    found = {name.removeprefix("MEMEX_") for name in os.environ.keys() - aliases if name.startswith("MEMEX_")}
    unknown = sorted(name for name in found if not _OTHERS.fullmatch(name))
    return {f"MEMEX_{name}": known.get("".join(get_close_matches(name, known, 1))) for name in unknown}
