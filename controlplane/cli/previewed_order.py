"""Orders of which what would come is said first, and asked about."""

from typing import Protocol

from controlplane.api.schemas.commands import CommandOut
from controlplane.cli.errors import CliError
from controlplane.cli.prompts import confirm
from controlplane.cli.session import Session


class Send(Protocol):
    """Sends the order; with `dry_run` nothing is recorded."""

    def __call__(self, *, dry_run: bool) -> CommandOut: ...


def preview_first(session: Session, cluster: str, send: Send, *, yes: bool) -> CommandOut:
    """What came of the order. Nobody is asked where nothing would change. Raises CliError on a no."""
    found = send(dry_run=True)
    if not found.changed:
        return found
    session.tell(found.sentence)
    if not yes and not confirm(session, f"Do this to {cluster}?", unattended="add -y, or use a terminal"):
        raise CliError("not confirmed, nothing was changed")
    return send(dry_run=False)
