"""Brings about what `kedge chaos` asked for, once it is recorded."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from controlplane.cluster.commands import Command, EndFault, InjectChaos
from controlplane.cluster.places import place_of
from controlplane.cluster.view import ChaosView, ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.commands.deciders.chaos import CutFrom, Fault
from controlplane.commands.handler import CommandOutcome
from events.ids import derived_id
from providers.base import CloudProvider
from providers.harm import CannotHarm, Harm, HarmsVms, Manner, Way

Harmer = Callable[[ClusterView, ChaosView], None]
"""(the cluster, the fault as recorded). Raises CannotHarm, ProviderError."""


class ChaosCommands(Protocol):
    """`CommandHandler` is one, also as far as a caller may use it."""

    def handle(self, command: Command) -> CommandOutcome: ...

    def current(self, name: str) -> ClusterView: ...


@dataclass(frozen=True, slots=True)
class BroughtAbout:
    """A fault that is on record. `chaos` is None where it is over by now."""

    view: ClusterView
    chaos: ChaosView | None
    sentence: str


def recorded_and_done(commands: ChaosCommands, harm: Harmer, command: InjectChaos) -> BroughtAbout:
    """A fault: recorded, then done, once however often the command is sent. One that could not be begun is over at
    once: nothing waits for it, and no other fault is refused for it.

    Raises ClusterNotFound, CommandRefused, StoreUnavailable, StreamConflict; CannotHarm, ProviderError once recorded.
    """
    before = commands.current(command.name)
    number = derived_id("chaos", before.uid, command.command_id)
    outcome = commands.handle(command)
    view = commands.current(command.name)
    chaos = view.requests.chaos.get(number)
    if chaos is not None and number not in before.requests.chaos:  # a request that is sent again is done once
        try:
            harm(view, chaos)
        except CannotHarm as error:
            if not error.begun:
                commands.handle(_not_begun(command, number, error))
            raise
    return BroughtAbout(view, chaos, outcome.sentence)


def _not_begun(command: InjectChaos, number: str, error: CannotHarm) -> EndFault:
    outcome = f"it was not injected: {error}"
    key = f"{command.command_id}/not-begun"
    return EndFault(name=command.name, actor=command.actor, command_id=key, chaos=number, outcome=outcome)


def bring_about(clouds: Callable[[str], CloudProvider], view: ClusterView, chaos: ChaosView) -> None:
    """Harms each VM of the fault. Raises CannotHarm, ProviderError: what was done to others before stays done."""
    for number, key in enumerate(chaos.keys):
        try:
            _harm_one(clouds, view, chaos, view.instances[key])
        except CannotHarm as error:
            raise CannotHarm(str(error), begun=error.begun or number > 0) from error


def _harm_one(
    clouds: Callable[[str], CloudProvider], view: ClusterView, chaos: ChaosView, instance: InstanceView
) -> None:
    harm = Harm.KILL_VM if chaos.fault == Fault.KILL_RACK else Harm(chaos.fault)
    place = place_of(view, instance)
    provider = clouds(place.cloud)
    if isinstance(provider, HarmsVms):
        provider.harm(place, instance.cloud_id, harm, chaos.for_s, _manner(view, chaos))
    elif harm is Harm.KILL_VM:
        provider.terminate(place, instance.cloud_id)
    else:
        raise CannotHarm(f"{harm} needs control of the VM, which {place.cloud} does not lend")


def _manner(view: ClusterView, chaos: ChaosView) -> Manner:
    """In the words of the cloud. Brokers are all but the victims: a rack that is cut off is whole in itself."""
    asked = chaos.manner
    others = (i for i in view.brokers() if i.key not in chaos.keys)
    addresses = (a for i in others for a in (i.address, view.vms.node_addresses.get(i.node, "")) if a)
    return Manner(
        everyone=asked.cut_from == CutFrom.EVERYONE,
        addresses=tuple(addresses) if asked.cut_from == CutFrom.BROKERS else (),
        control_plane=asked.cut_from == CutFrom.CONTROL_PLANE,
        way=Way(asked.way),
        loss=asked.loss_percent / 100,
        bytes_per_s=round(asked.mib_per_s * 2**20),
    )


def nothing_to_harm(view: ClusterView, chaos: ChaosView) -> None:
    """Where no cloud is at hand. Raises CannotHarm."""
    raise CannotHarm(f"this server cannot control the VMs of {view.name}")
