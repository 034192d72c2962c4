"""A group of commands of which one need not be named."""

from typing import TYPE_CHECKING, ClassVar

from typer.core import TyperGroup

if TYPE_CHECKING:
    from typer._click.core import Context


class ShowByDefaultGroup(TyperGroup):
    """A command group whose default command is `show`: `memex log`, `memex log call-7`."""

    default: ClassVar[str] = "show"

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Return the arguments, with the command in front."""
        if not args or args[0] not in {*self.commands, *ctx.help_option_names}:
            args = [self.default, *args]
        return super().parse_args(ctx, args)


class ListByDefaultGroup(ShowByDefaultGroup):
    """A command group whose default command is `list`: `memex users`."""

    default = "list"
