"""Groups of commands, which import a command when it is called: all of them would take long."""

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from importlib import import_module
from inspect import getdoc
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from memex.cli.parameters import skip_needless_coercion

if TYPE_CHECKING:
    from typer._click.core import Command, Context
    from typer._click.formatting import HelpFormatter

# Commands that are gone, by the command that does their work now.
REPLACED = {"tidy": "memex dream run"}
COMMANDS, HIDDEN = "Commands", "Hidden"  # the panel of a group that needs one, and of what no help text shows


@dataclass(frozen=True, slots=True)
class Group:
    """A group of commands.

    Attributes:
        help: the text of its help; the first paragraph also stands in the help of the group above.
        examples: shell lines, which the help text ends with.
        panels: the commands of each panel of the help text, by name: where the command is below `memex.cli`, such
            as `memory.files:move`, or a group.
        app: where below `memex.cli` the typer app of a group is that has options, or that makes commands itself.
        default: the command that need not be named.
    """

    help: str
    examples: tuple[str, ...]
    panels: "Mapping[str, Mapping[str, str | Group]]"
    app: str = ""
    default: str = ""

    @property
    def places(self) -> "dict[str, tuple[str, str | Group]]":
        """The panel of each command, and where the command is."""
        return {name: (panel, place) for panel, below in self.panels.items() for name, place in below.items()}

    def paths(self, above: str = "") -> Iterator[str]:
        """Yield the words that call each command and group below this one, hidden ones left out."""
        for name, (panel, place) in self.places.items():
            if panel != HIDDEN:
                yield above + name
                if isinstance(place, Group):
                    yield from place.paths(f"{above}{name} ")


class LazyCommands(Mapping[str, "Command"]):
    """The commands of a group by name, each imported when it is looked up."""

    def __init__(self, group: Group) -> None:
        self._places = group.places
        self._made: dict[str, Command] = {}

    def __getitem__(self, name: str) -> "Command":
        """Return a command with its options."""
        if name not in self._made:
            panel, place = self._places[name]
            if isinstance(place, Group):
                self._made[name] = _make_group(name, place, panel)
            else:
                self._made[name] = _make_command(name, place, panel)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class LazyGroup(TyperGroup):
    """A group of the command line over a `Group`."""

    group: Group

    def lay_out(self, group: Group) -> None:
        """Take the commands of a group."""
        skip_needless_coercion(self)
        self.group = group
        self.commands = LazyCommands(group)  # type: ignore[assignment]  # nothing adds a command

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Return the arguments, with the default command in front if they name none."""
        is_named = args and args[0] in {*self.commands, *ctx.help_option_names}
        if self.group.default and not is_named and (args or not ctx.resilient_parsing):
            args = [self.group.default, *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: "Context", args: list[str]
    ) -> "tuple[str | None, Command | None, list[str]]":
        """Return the command that is called; an unknown one is refused with the names that are near."""
        name = args[0]
        if name not in self.commands and not name.startswith("-") and not ctx.resilient_parsing:
            if (successor := REPLACED.get(name)) is not None:
                ctx.fail(f"No such command {name!r}: {successor!r} took its place.")
            near = self._near(name)
            ctx.fail(f"No such command {name!r}." + (f" Did you mean {near}?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Print the help text, for which the options of the commands need not be set up."""
        overview = copy(self)
        overview.commands = {
            name: TyperCommand(
                name,
                help=place.help if isinstance(place, Group) else getdoc(_load(place)),
                rich_help_panel=panel,
            )
            for name, (panel, place) in self.group.places.items()
            if panel != HIDDEN
        }
        TyperGroup.format_help(overview, ctx, formatter)

    def _near(self, name: str) -> str:
        """Return how the commands are called whose last word is near to a name."""
        from difflib import get_close_matches

        called: dict[str, list[str]] = {}
        for path in self.group.paths():
            called.setdefault(path.rpartition(" ")[2], []).append(path)
        return ", ".join(repr(path) for word in get_close_matches(name, called) for path in called[word])


def _make_command(name: str, place: str, panel: str) -> "Command":
    app = typer.Typer(add_completion=False)
    app.command(name, rich_help_panel=panel, hidden=panel == HIDDEN)(_load(place))
    command = typer.main.get_command(app)
    skip_needless_coercion(command)
    return command


def _make_group(name: str, group: Group, panel: str) -> TyperGroup:
    epilog = examples(group.examples)
    if group.app:
        app = _load(group.app)
        made = typer.main.get_group(app)
        made.name, made.rich_help_panel = name, panel
        made.help, made.epilog = group.help, epilog
        skip_needless_coercion(made)
        made.commands.update(LazyCommands(group))
        return made
    lazy = LazyGroup(
        name=name,
        help=group.help,
        epilog=epilog,
        no_args_is_help=not group.default,
        rich_help_panel=panel,
    )
    lazy.lay_out(group)
    return lazy


def examples(lines: tuple[str, ...]) -> str:
    """Return the end of a help text that shows examples."""
    return "\n".join(["Examples:", "", *(f"    {line}" for line in lines)])


def _load(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return getattr(import_module(f"memex.cli.{module}"), attribute)
