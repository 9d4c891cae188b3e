"""The command group: expected errors become a few lines and an exit code, and `--no-color` may stand anywhere."""

from typing import Any

import typer
from typer.core import TyperGroup

from controlplane.cli import exits
from controlplane.cli.errors import CliError
from controlplane.cli.session import session_of
from controlplane.runtime.redaction import redacted
from events.extras import extra_missing, how_to_add

NO_COLOR = "--no-color"
_CLICK_USAGE = 2

OF_VERB = {
    "demo": "server,spark",
    "images": "images",
    **dict.fromkeys(("agent-bundle", "db", "doctor", "import", "rebuild", "restore", "server"), "server"),
}
"""What a verb takes as a whole, where the first module that is missing would tell of a part."""


class KedgeGroup(TyperGroup):
    """The boundary of the command line: what leaves it is an exit code."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Global options are accepted behind the verb too, where people add them."""
        options = args[: args.index("--")] if "--" in args else args
        if NO_COLOR in options:
            rest = [arg for arg in options if arg != NO_COLOR]
            args = [NO_COLOR, *rest, *args[len(options) :]]
        return super().parse_args(ctx, args)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Usage errors of the root itself."""
        try:
            return super().make_context(*args, **kwargs)
        except typer.TyperException as error:
            raise _as_usage(error) from None

    def invoke(self, ctx: Any) -> Any:
        """Runs the verb."""
        try:
            return super().invoke(ctx)
        except CliError as error:
            _tell(ctx, error)
            raise typer.Exit(error.exit_code) from None
        except ModuleNotFoundError as error:
            if not (extra := extra_missing(error)):
                raise
            _tell(ctx, _not_installed(error.name or "", OF_VERB.get(str(ctx.invoked_subcommand), extra), extra))
            raise typer.Exit(exits.FAILED) from None
        except KeyboardInterrupt:
            session_of(ctx).err.print()
            raise typer.Exit(exits.INTERRUPTED) from None
        except typer.TyperException as error:
            raise _as_usage(error) from None


def _not_installed(module: str, of_verb: str, of_module: str) -> CliError:
    """A verb's own extra brings what is below it, but no cloud and no lake."""
    extra = of_verb if of_module in ("server", "planner", "spark") else of_module
    why = f"`{module}` is not installed: it comes with what is installed by need"
    return CliError("this installation cannot do that", why=why, next_step=how_to_add(extra))


def _tell(ctx: Any, error: CliError) -> None:
    session = session_of(ctx)
    first, *rest = map(redacted, error.lines())
    session.tell(first, "bold red")
    for line in rest:
        session.tell(line)


def _as_usage(error: typer.TyperException) -> typer.TyperException:
    # Click says 2, which `plan --detailed-exitcode` and `diff` need for themselves.
    if error.exit_code == _CLICK_USAGE:
        error.exit_code = exits.USAGE
    return error
