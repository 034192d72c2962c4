"""`memex setup CLIENT --hooks` and `memex setup check`: what coding agents report, and whether it arrives."""

import os
import shlex
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memex.cli.file_change import undone_line
from memex.cli.operate.setup_user import hook_user, user_note
from memex.cli.output import CommandOutput, Screen, program_name
from memex.errors import FileNotFound, MemexError, ValidationFailed, VersionConflict

if TYPE_CHECKING:
    from memex.capture.switch import CaptureSettings
    from memex.service.health.findings import Finding
    from memex.setup.change import ConfigChange
    from memex.setup.hooks import HookClient
    from memex.setup.names import Scope
    from memex.setup.plugin_clients import PluginClient


@dataclass(frozen=True, slots=True)
class HooksPlan:
    """The planned content of a client's files of hooks, and the notes for a person."""

    agent: "HookClient | PluginClient"
    path: Path
    entry: dict[str, Any]

    def snippet(self) -> str:
        """Return what to write by hand, of more than one file with their names before it."""
        texts = self.agent.texts(self.path, self.entry)
        written = [(path, changed("")) for path, changed in texts]
        return (
            written[0][1] if len(written) == 1 else "\n".join(f"# {path}\n{text}" for path, text in written)
        )

    def undo(self) -> CommandOutput:
        """Restore the files; from one that was changed since, only what is Memex's is taken out.

        Raises:
            FileNotFound: nothing was set up.
            VersionConflict: a file that is Memex's own, or that holds other hooks too, was changed since.
        """
        from memex.setup import change

        taken_out = self.agent.taken_out()
        lines = []
        for number, (path, _) in enumerate(self.agent.texts(self.path, self.entry)):
            try:
                lines.append(undone_line(path, is_there=change.undo(path)))
            except VersionConflict:
                if path not in taken_out:
                    raise
                rest = taken_out[path]((change.read(path) or b"").decode())
                change.take_out(path, rest.encode())
                lines.append(f"{path} was changed since; what Memex wrote is taken out of it.")
            except FileNotFound:
                if not number:
                    raise
        return CommandOutput(
            {"path": str(self.path), "status": "undone"}, lambda screen: screen.line("\n".join(lines))
        )

    def changes(self) -> "list[ConfigChange]":
        """Return the changes of the files; raises ValidationFailed if one is broken."""
        from memex.setup.change import ConfigChange

        by_hand = f"{program_name()} setup {self.agent.name} --hooks --print"
        texts = self.agent.texts(self.path, self.entry)
        return [ConfigChange.planned(path, changed, by_hand=by_hand) for path, changed in texts]

    def notes(self) -> list[str]:
        """Return what a person should know after the change."""
        from memex.setup.hooks import KEY_VARIABLE

        seen, paused = (f"memex conversations capture {word}" for word in ("status", "pause"))
        notes = [*self.agent.after, f"See what arrives: {seen}. Pause it: {paused}."]
        if self.entry["type"] == "http":
            notes.append(f"The client reads the key from {KEY_VARIABLE} in its environment.")
            notes.append("A new session is given where work stands with its first prompt.")
        return notes


def plan_hooks(client: str, *, url: str | None, scope: "Scope | None", http: bool) -> HooksPlan:
    """Return what to write for a client; raises ValidationFailed if it has no such hooks."""
    from memex.setup import hooks
    from memex.setup.plugin_clients import PLUGIN_CLIENTS, plugin_entry

    if client not in hooks.HOOK_CLIENTS:
        known = ", ".join(hooks.HOOK_CLIENTS)
        raise ValidationFailed(
            f"{client} has no hooks that Memex knows.", hint=f"Clients with hooks: {known}."
        )
    agent = hooks.HOOK_CLIENTS[client]
    if http and not agent.http_events:
        raise ValidationFailed(f"{client} has no HTTP hooks.", hint="Leave --http out.")
    if http and not url:
        raise ValidationFailed("HTTP hooks need a service.", hint="Name it with --url.")
    program = _program(scope)
    if client in PLUGIN_CLIENTS:
        entry = plugin_entry(program)
    elif http and url:
        entry = hooks.http_entry(client, url)
    else:
        entry = hooks.command_entry(client, shlex.quote(program))
    return HooksPlan(agent, agent.file(scope), entry)


def check_setup() -> CommandOutput:
    """Return for each client what is missing, and when an event of it was last heard."""
    from memex.hook.events import RUNTIMES
    from memex.setup import change, hooks

    told = _local_status()
    heard = {program["runtime"]: program["last_at"] for program in _heard()}
    clients = []
    for name, agent in hooks.HOOK_CLIENTS.items():
        path = agent.file(None)
        missing = agent.missing_of(lambda file: (change.read(file) or b"").decode())
        clients.append(
            {
                "client": name,
                "file": str(path),
                "hooks": len(agent.events) - len(missing),
                "missing": missing,
                "last_heard": heard.get(RUNTIMES[name]),
            }
        )
    document = {"capture": told, "clients": clients}
    is_well = told["on"] and any(not client["missing"] for client in clients)
    return CommandOutput(document, lambda screen: _show(screen, document), exit_code=0 if is_well else 1)


def capture_findings() -> "list[Finding]":
    """Return what the doctor says of capture: nothing where nobody turned it on."""
    from memex.hook.state import SETTINGS, state_folder
    from memex.service.health.findings import Finding

    try:
        is_on = (Path(state_folder()) / SETTINGS).exists()
    except OSError:  # a user without a home
        is_on = False
    if not is_on:
        return []
    document = check_setup().document
    capture, found = document["capture"], []
    if capture["dropped"]:
        count = capture["dropped"].get("tool", 0) + capture["dropped"].get("other", 0)
        found.append(
            Finding(
                "capture",
                f"{count:,} events were dropped: the spool was full",
                "note",
                "See what stops deliveries: memex conversations capture status.",
            )
        )
    if capture["delivered"] and (code := capture["delivered"].get("error")):
        hint = "The events wait; the next event of an agent tries again."
        found.append(Finding("capture", f"the last delivery failed: {code}", "note", hint))
    for client in document["clients"]:
        if not client["hooks"]:
            continue
        last = (client["last_heard"] or "")[:16].replace("T", " ")
        newest = f"last event {last}" if last else "no event yet"
        said = f"{client['client']}: hooks at {client['hooks']} events, {newest}"
        if client["missing"]:
            hint = f"Missing: {', '.join(client['missing'])}. Run memex setup {client['client']} --hooks."
            found.append(Finding("capture", said, "note", hint))
        elif not last:
            hint = "Start the agent anew. Codex runs a hook only after it was trusted: open /hooks in it."
            found.append(Finding("capture", said, "note", hint))
        else:
            found.append(Finding("capture", said))
    return found


def _local_status() -> dict[str, Any]:
    from memex.capture import switch

    state = switch.open_state()
    told, settings = switch.local_status(state), switch.read_settings(state)
    names = ("on", "paused", "waiting", "dropped", "delivered")
    return {"user": hook_user(settings) if settings else None} | {name: told[name] for name in names}


def _heard() -> list[dict[str, Any]]:
    """Return when the Memex that capture delivers to heard each agent; nothing where it does not answer."""
    import asyncio

    from memex.capture import switch
    from memex.cli.conversations.capture import delivering_session

    async def ask() -> list[dict[str, Any]]:
        settings = switch.read_settings(switch.open_state()) or switch.CaptureSettings()
        async with delivering_session(settings) as session:
            return list((await session.call("event_heard"))["runtimes"])

    try:
        return asyncio.run(ask())
    except MemexError:
        return []


def _show(screen: Screen, document: dict[str, Any]) -> None:
    capture = document["capture"]
    screen.line("Capture is ", ("paused" if capture["paused"] else "on" if capture["on"] else "off", "bold"))
    if capture["on"]:
        screen.line(user_note(capture["user"]))
    for client in document["clients"]:
        last = (client["last_heard"] or "")[:16].replace("T", " ")
        heard = f"last event {last}" if last else "no event yet"
        state = f"hooks at {client['hooks']} events" if client["hooks"] else "no hooks"
        screen.line((f"{client['client']}: ", "bold"), f"{state}, {heard}")
        if client["hooks"] and client["missing"]:
            screen.line((f"  missing: {', '.join(client['missing'])}", "yellow"))
        if client["hooks"] and not last and client["client"] == "codex":
            screen.line(("  Codex runs no hook that is not trusted: open /hooks in it.", "yellow"))


def _program(scope: "Scope | None") -> str:
    """Return the program as a client finds it: by its place for a user, by its name for a project."""
    from memex.setup.hooks import HOOK

    if scope == "project":
        return HOOK
    beside = Path(sys.argv[0]).absolute().with_name(HOOK)
    found = str(beside) if beside.is_file() and os.access(beside, os.X_OK) else shutil.which(HOOK)
    return found or HOOK


def capture_settings(
    client: str, *, url: str | None, key: str | None, user: str | None, http: bool
) -> "tuple[CaptureSettings, CaptureSettings | None]":
    """Return the settings of capture with a client more, and those before; None if capture is off.

    At the same service, the key and the user of before hold where none is named. A client that sends events itself
    has a key in its environment alone.
    """
    from memex.capture import switch
    from memex.cli.conversations.capture import new_settings

    known = switch.read_settings(switch.open_state())
    if http:
        return new_settings(url=url, key=None, user=None), None
    made = new_settings(url=url or os.environ.get("MEMEX_URL"), key=key, user=user)
    clients = tuple(sorted({*(known.clients if known else ()), client}))
    if known is None:
        return replace(made, clients=clients), None
    if known.url == made.url and key is None:
        made = replace(made, key=known.key, user=made.user or known.user)
    return replace(made, clients=clients, everywhere=known.everywhere, prompts=known.prompts), known


def turn_off_capture(client: str) -> None:
    """Let `memex-hook` note nothing, if no other client is set up."""
    from memex.capture import switch

    state = switch.open_state()
    known = switch.read_settings(state)
    if known is None:
        return
    left = tuple(other for other in known.clients if other != client)
    if left:
        switch.turn_on(state, replace(known, clients=left))
    else:
        switch.turn_off(state)
