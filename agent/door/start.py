"""The door of this VM, put together from the real things."""

from collections.abc import Callable
from pathlib import Path

from agent.door.client_door import ClientDoor
from agent.door.order import DoorStatus, order_of
from agent.settings import AgentSettings
from agent.tools import ToolFailed
from agent.wire_door import DoorDocument, DoorReport

FollowedDoor = Callable[[DoorDocument | None, bool], DoorReport | None]

_NOT_ITS_OWN = (
    "the network of this VM is this machine's, as on the `local` cloud without namespaces: nobody can be kept out of "
    "one alone"
)


def followed_door(
    settings: AgentSettings, folder: Path, boot_id: str, monotonic_s: Callable[[], float]
) -> FollowedDoor:
    """The door of this VM. Where its network is not its own there is none, and a document with one is answered with the
    reason: services that are not to be reached start nowhere."""
    if settings.network == "shared":
        return lambda document, is_confirmed: (
            None
            if document is None or document.state == "none"
            else DoorReport(
                pair=document.pair, state=document.state, epoch=document.epoch, in_force=False, problem=_NOT_ITS_OWN
            )
        )
    door = ClientDoor(folder, boot_id)

    def follow(document: DoorDocument | None, is_confirmed: bool) -> DoorReport | None:
        try:
            order = order_of(document) if document is not None else None
            status = door.keep(order, is_confirmed=is_confirmed, now_s=monotonic_s())
        except (OSError, ValueError, ToolFailed) as error:
            pair, epoch = (document.pair, document.epoch) if document is not None else ("", 0)
            return DoorReport(pair=pair, state="shut", epoch=epoch, in_force=False, problem=str(error))
        return _reported(status) if status is not None else None

    return follow


def _reported(status: DoorStatus) -> DoorReport:
    return DoorReport(
        pair=status.pair,
        state=status.state.value,
        epoch=status.epoch,
        in_force=status.is_in_force,
        connections=status.connections,
        problem=status.problem,
    )
