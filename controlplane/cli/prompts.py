"""Questions to a person. Without one at the keyboard nothing is asked and nothing hangs."""

from controlplane.cli.errors import CliError
from controlplane.cli.session import Session


def confirm(session: Session, question: str, *, unattended: str) -> bool:
    """A yes or no; anything but y or yes is a no. Raises CliError when nobody can be asked, telling `unattended`."""
    if not session.can_ask:
        raise _not_confirmed(unattended)
    return _ask(session, f"{question} [y/N] ").lower() in ("y", "yes")


def typed_name(session: Session, question: str, *, unattended: str) -> str:
    """What a person types. Raises CliError when nobody can be asked."""
    if not session.can_ask:
        raise _not_confirmed(unattended)
    return _ask(session, f"{question}: ")


def _ask(session: Session, text: str) -> str:
    session.err.print(text, end="")
    session.err.file.flush()
    line = session.around.read_line()
    if not line.endswith("\n"):
        # The end of the input stands on the line of the question.
        session.err.print()
    return line.strip()


def _not_confirmed(unattended: str) -> CliError:
    why = "there is no terminal to ask on"
    return CliError("not confirmed, nothing was changed", why=why, next_step=unattended)
