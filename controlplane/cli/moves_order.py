"""Emptying brokers and rebalancing: what would move is shown first, and a yes is bound to that."""

from controlplane.api.schemas import moves as move_api
from controlplane.cli.errors import CliError
from controlplane.cli.moves_view import moves_lines
from controlplane.cli.prompts import confirm
from controlplane.cli.session import Session


def agreed_moves(
    session: Session, name: str, wanted: move_api.MovesPlanIn, *, yes: bool, aside: bool = False
) -> move_api.MovesPlanOut:
    """The plan that was shown and agreed to; the server refuses an order with its digest once that has moved.

    Nobody is asked where nothing would be recorded. `aside`: the plan is shown on standard error, for machines read the
    answer. Raises CliError on a no, and Refused where nothing can be planned.
    """
    found = session.client.plan_moves(name, wanted)
    for line in moves_lines(found):
        if aside:
            session.err.print(line)
        else:
            session.show(line)
    question = f"Do this to {name}?"
    if found.changes and not yes and not confirm(session, question, unattended="add -y, or use a terminal"):
        raise CliError("not confirmed, nothing was changed")
    return found
