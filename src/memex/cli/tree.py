"""The tree of the command line: every command, the group that it is in, and the name that it had before."""

from memex.cli.group import COMMANDS, HIDDEN, Group

FILES = Group(
    "Move, compare, restore, link, import and export files.",
    examples=(
        "memex files diff user/preferences.md 1 2",
        "memex files blame user/decisions.md",
        "memex files export backup.zip",
    ),
    panels={
        "Look around": {
            "folders": "memory.folders:folders",
            "topics": "memory.topics:topics",
            "links": "memory.folders:links",
            "changes": "memory.folders:changes",
            "journal": Group(
                "Read what was told, word for word, by months and days.\n\n"
                "`memex files journal` means `memex files journal show`.",
                examples=(
                    "memex files journal",
                    "memex files journal 2026-11",
                    "memex files journal 2026-11-22",
                ),
                panels={COMMANDS: {"show": "memory.journal:show", "backfill": "memory.journal:backfill"}},
                default="show",
            ),
        },
        "Change": {
            "write-many": "memory.files:write_many",
            "move": "memory.files:move",
            "delete": "memory.files:delete",
        },
        "Versions": {
            "diff": "memory.revisions:diff",
            "restore": "memory.revisions:restore",
            "blame": "log.provenance:blame",
            "thin": "log.retention:thin",
        },
        "Move in and out": {
            "import": "memory.transfer:import_vault",
            "export": "memory.transfer:export_files",
        },
    },
)

REVIEW = Group(
    "Decide what waits for a person, such as contradictions.\n\n`memex review` means `memex review list`.",
    examples=(
        "memex review",
        "memex review list --kind secret",
        "memex review decide keep ID",
    ),
    panels={COMMANDS: {"list": "memory.review:list_waiting", "decide": "memory.review:decide"}},
    default="list",
)

DREAM = Group(
    "Tidy pages by proposals that lose nothing, and that can be taken back.",
    examples=(
        "memex dream report",
        "memex dream run",
        "memex dream apply ID 1 2",
    ),
    panels={
        "Look": {
            "report": "memory.dreams:report",
            "run": "memory.dreams:run",
            "list": "memory.dreams:list_proposals",
            "show": "memory.dreams:show",
        },
        "Decide": {
            "apply": "memory.dreams:apply",
            "reject": "memory.dreams:reject",
            "revert": "memory.dreams:revert",
            "mode": "memory.dreams:mode",
            "pause": "memory.dreams:pause",
        },
    },
)

CONVERSATIONS = Group(
    "Import conversations with agents, and dig in them.",
    examples=(
        "memex conversations ingest ~/Downloads/chatgpt-export.zip",
        "memex conversations dig why did we choose postgres for the queue",
        "memex conversations distil --since 30d",
    ),
    panels={
        "Find": {
            "dig": "conversations.finding:dig",
            "keyword": "conversations.finding:keyword",
            "semantic": "conversations.finding:semantic",
            "similar": "conversations.finding:similar",
        },
        "Read": {
            "thread": "conversations.reading:thread",
            "timeline": "conversations.reading:timeline",
            "corpus": "conversations.reading:corpus",
            "sources": "conversations.reading:sources",
        },
        "Take into memory": {
            "distil": "conversations.distil:distil",
            "evidence": "conversations.distil:evidence",
        },
        "Import, export and delete": {
            "ingest": "conversations.ingest:ingest",
            "capture": Group(
                "Pause and resume what coding agents report, and see what became of it.",
                examples=(
                    "memex conversations capture status",
                    "memex conversations capture pause",
                    "memex conversations capture resume --everywhere",
                ),
                panels={
                    COMMANDS: {
                        "pause": "conversations.capture:pause",
                        "resume": "conversations.capture:resume",
                        "status": "conversations.capture:status",
                    },
                    HIDDEN: {"deliver": "conversations.capture:deliver"},
                },
            ),
            "export": "conversations.removing:export",
            "delete": "conversations.removing:delete",
        },
        "Index": {
            "backfill": "operate.index:backfill_conversations",
            "rebuild": "operate.index:rebuild_conversations",
        },
    },
)

DOCUMENTS = Group(
    "Mirror the documents of a folder, for search beside memory.",
    examples=(
        "memex docs push .",
        "memex docs watch .",
        "memex docs status",
    ),
    panels={
        COMMANDS: {
            "push": "documents.main:push",
            "watch": "documents.main:watch",
            "status": "documents.main:status",
            "sync": "documents.main:sync",
            "remove": "documents.main:remove",
        }
    },
)

WORK = Group(
    "Show where work stands, as sessions with agents say.\n\n`memex work` means `memex work show`.",
    examples=(
        "memex work",
        "memex work changes --since 2d",
        "memex work resolve --cwd .",
    ),
    panels={
        "Where work stands": {
            "show": "work.main:show",
            "open": "work.main:open_work",
            "decisions": "work.main:decisions",
            "check": "work.main:check",
            "changes": "work.main:changes",
            "health": "work.main:health",
            "provenance": "work.keeping:provenance",
            "pack": "work.places:pack",
        },
        "Decide about an item": {
            "done": "work.keeping:done",
            "drop": "work.keeping:drop",
            "keep": "work.keeping:keep",
            "pin": "work.keeping:pin",
            "leave-out": "work.keeping:leave_out",
            "repair": "work.main:repair",
            "policy": "work.main:policy",
        },
        "Sessions and projects": {
            "sessions": "work.places:sessions",
            "resolve": "work.places:resolve",
            "end": "work.keeping:end",
            "archive": "work.keeping:archive",
            "restore": "work.keeping:restore",
            "labels": "work.places:labels",
            "link": "work.places:link",
            "trust": "work.places:trust",
            "rebuild": "work.main:rebuild",
        },
    },
    default="show",
)

SQL = Group(
    "Ask in SQL what is stored; it only reads.\n\n`memex sql` means `memex sql shell`.",
    examples=(
        "memex sql",
        "memex sql schema",
        'memex sql query "select count(*) from messages" --format csv',
    ),
    panels={
        COMMANDS: {
            "shell": "conversations.sql:sql",
            "query": "conversations.sql:query",
            "schema": "conversations.sql:schema",
        }
    },
    default="shell",
)

BACKUP = Group(
    "Write the whole database to a file, and put it into an empty one.",
    examples=(
        "memex service backup create",
        "memex service backup restore memex-2026-11-29T09-30-00Z.zip --check",
        "memex service backup restore memex-2026-11-29T09-30-00Z.zip",
    ),
    panels={COMMANDS: {"create": "operate.backup:create", "restore": "operate.backup:restore"}},
)

SERVICE = Group(
    "Look after a service: health, schema, backups, queue and quotas.",
    examples=(
        "memex service health",
        "memex service backup create",
        "memex service queue list",
    ),
    panels={
        COMMANDS: {
            "health": "health.health:health",
            "migrate": "operate.migrate:migrate",
            "upgrade": "operate.migrate:upgrade",
            "backup": BACKUP,
            "queue": Group(
                "Show and process the queue of `memex remember --no-wait`.",
                examples=(
                    "memex service queue list --user alice",
                    "memex service queue retry --all",
                    "memex service queue work",
                ),
                panels={
                    COMMANDS: {
                        "list": "log.queue:list_calls",
                        "retry": "log.queue:retry",
                        "work": "log.queue:work",
                    }
                },
            ),
            "quota": Group(
                "Show and set how much a tenant, a user or a project may store.",
                examples=(
                    "memex service quota show",
                    "memex service quota set user alice --files 10000",
                    "memex service quota set project apollo --bytes 100000000",
                ),
                panels={COMMANDS: {"show": "operate.quota:show", "set": "operate.quota:set_quota"}},
            ),
        }
    },
)

LOG = Group(
    "List the newest calls, show one, or run it again.\n\n`memex log [TOOL_CALL_ID]` means `memex log show`.",
    examples=(
        "memex log --limit 5",
        "memex log CALL",
        "memex log replay CALL",
    ),
    panels={
        COMMANDS: {
            "show": "log.operations:show",
            "replay": "log.replay:replay",
            "seen": "log.provenance:seen",
            "spend": "log.spend:spend",
            "keep": "log.retention:keep",
            "release": "log.retention:release",
            "prune": "log.retention:prune",
        }
    },
    default="show",
)

USERS = Group(
    "List the users, or erase one for good.\n\n`memex users` means `memex users list`.",
    examples=(
        "memex users",
        "memex users erase alice",
        "memex users erasures",
    ),
    panels={
        COMMANDS: {
            "list": "operate.users:list_users",
            "erase": "operate.users:erase",
            "erasures": "operate.users:erasures",
        }
    },
    default="list",
)

ERASURE = Group(
    "Check the receipt of an erasure.",
    examples=(
        "memex erasure verify receipt.json",
        "memex erasure verify receipt.json --user alice",
        "memex erasure verify receipt.json --json",
    ),
    panels={COMMANDS: {"verify": "memory.erase:verify"}},
)

KEYS = Group(
    "Create, list and revoke API keys.",
    examples=(
        "memex keys create --role agent --user alice",
        "memex keys list",
        "memex keys revoke 7",
    ),
    panels={
        COMMANDS: {
            "create": "operate.keys:create",
            "list": "operate.keys:list_keys",
            "revoke": "operate.keys:revoke",
        }
    },
)

PROJECTS = Group(
    "Create and close projects, and change their members.",
    examples=(
        "memex projects create apollo",
        "memex projects add apollo alice",
        "memex projects list",
    ),
    panels={
        COMMANDS: {
            "create": "operate.projects:create",
            "close": "operate.projects:close",
            "list": "operate.projects:list_projects",
            "add": "operate.projects:add",
            "remove": "operate.projects:remove",
            "read-from": "operate.projects:read_from",
        }
    },
)

SECRETS = Group(
    "Find secrets in texts, and say what is done about them.",
    examples=(
        "memex secrets show",
        "memex secrets set --files flag",
        "memex secrets scan",
    ),
    panels={
        COMMANDS: {
            "show": "secrets.policies:show",
            "set": "secrets.policies:set_policies",
            "scan": "secrets.scan:scan",
        }
    },
)

INDEX = Group(
    "Show and rebuild the search index and the vectors.",
    examples=(
        "memex index status",
        "memex index rebuild --only-stale",
        "memex index backfill",
    ),
    panels={
        COMMANDS: {
            "status": "operate.index:status",
            "rebuild": "operate.index:rebuild",
            "backfill": "operate.index:backfill",
            "drop": "operate.index:drop",
            "build-hnsw": "operate.index:build_hnsw",
        }
    },
)

SETUP = Group(
    "Add Memex to the program that runs your agents.",
    examples=(
        "memex setup claude-code --hooks",
        "memex setup cursor --print",
        "memex setup --check",
    ),
    panels={COMMANDS: {"prompt": "memory.prompt:prompt"}},
    app="operate.setup:app",
)

EVAL = Group(
    "Check memory with test cases, and compare planners.",
    examples=(
        "memex eval run cases/",
        "memex eval runs",
        "memex eval check cases/",
    ),
    panels={
        COMMANDS: {
            "run": "eval.cases:run",
            "runs": "eval.cases:runs",
            "check": "eval.cases:check",
            "planner": "eval.planner:planner",
            "states": "eval.states:states",
            "freeze": "eval.states:freeze",
            "capture": "eval.states:capture",
        }
    },
    app="eval.moved:app",
)

TREE = Group(
    "Memory for AI agents: Markdown files that you can open, read and undo.",
    examples=(
        'memex remember "I prefer oolong tea."',
        "memex context Which tea does she like?",
        "memex find tea",
    ),
    panels={
        "Memory": {
            "remember": "memory.agent:remember",
            "context": "memory.agent:context",
            "find": "memory.files:find",
            "read": "memory.files:read",
            "write": "memory.files:write",
            "list": "memory.files:list_files",
            "history": "memory.revisions:history",
            "revert": "log.operations:revert",
            "forget": "memory.forget:forget",
            "removed": "memory.removed:removed",
            "erase": "memory.erase:erase",
            "erasure": ERASURE,
            "review": REVIEW,
            "dream": DREAM,
            "files": FILES,
        },
        "Beside memory": {
            "conversations": CONVERSATIONS,
            "docs": DOCUMENTS,
            "work": WORK,
            "sql": SQL,
        },
        "Set up and run": {
            "demo": "memory.demo:demo",
            "setup": SETUP,
            "serve": "operate.serve:serve",
            "mcp": "operate.mcp:mcp",
            "ui": "operate.ui:ui",
            "doctor": "health.doctor:doctor",
        },
        "Administer": {
            "service": SERVICE,
            "log": LOG,
            "users": USERS,
            "keys": KEYS,
            "projects": PROJECTS,
            "secrets": SECRETS,
            "index": INDEX,
            "eval": EVAL,
        },
    },
)

# Commands and groups that may be called on the first level, where most stood once, and the group that they are in.
MOVED = {
    **dict.fromkeys(("folders", "topics", "links", "changes", "journal", "write-many", "move"), "files"),
    **dict.fromkeys(("delete", "diff", "restore", "blame", "thin", "import", "export"), "files"),
    **dict.fromkeys(("dig", "keyword", "semantic", "similar", "thread", "timeline"), "conversations"),
    **dict.fromkeys(("corpus", "sources", "distil", "evidence", "ingest", "capture"), "conversations"),
    **dict.fromkeys(("backfill", "rebuild"), "conversations"),
    **dict.fromkeys(("query", "schema"), "sql"),
    **dict.fromkeys(("replay", "seen", "spend"), "log"),
    **dict.fromkeys(("health", "migrate", "queue", "quota", "upgrade", "backup"), "service"),
    "scan": "secrets",
    "prompt": "setup",
}
