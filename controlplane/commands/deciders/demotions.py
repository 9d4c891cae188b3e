"""What people may ask of leadership, and what is refused of it. Pure: the view and the last metadata in."""

from controlplane.cluster.commands import CommandRefused, DemoteBrokers, UndemoteBrokers
from controlplane.cluster.demotions import demoted_brokers
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.commands.deciders.decision import CommandDecision, asked_by
from controlplane.commands.deciders.lookups import NOTHING, Lookups
from events import facts
from events.quantities import counted
from planner.demotion import demoted_orders


def demotion_asked(view: ClusterView, command: DemoteBrokers, known: Lookups) -> CommandDecision:
    """Raises CommandRefused for a broker that does not serve, and where no broker would be left to lead."""
    there = [_serving(view, broker) for broker in dict.fromkeys(command.brokers)]
    held = view.requests.demotions
    fresh = [i for i in there if i.key not in held or held[i.key].ended or not held[i.key].by_person]
    if not fresh:
        return CommandDecision(None, f"{', '.join(i.key for i in there)}: demoted already")
    demoted = demoted_brokers(view) | {i.service_id for i in fresh}
    leading = [i for i in view.receivers() if i.phase is Phase.JOINED and i.service_id not in demoted]
    if not leading:
        message = f"no broker of {view.name} would be left to lead: all that may receive replicas would be demoted"
        raise CommandRefused(
            "nobody-leads", message, f"Ask for fewer, or first: kedge undemote {view.name} --broker ID"
        )
    keys = tuple(i.key for i in fresh)
    fact = facts.BrokersDemoteRequested(keys, tuple(i.service_id for i in fresh), asked_by(command, command.reason))
    what = ""
    if known.kafka is not None:
        orders, left = demoted_orders(known.kafka, demoted)
        what = f": leaders to change {len(orders)}, nothing is copied"
        what += f"; of {counted(left, 'partition')} no other replica in sync could lead: they stay" if left else ""
    return CommandDecision(
        fact, f"{', '.join(keys)} will lead nothing until it is taken back{what} (kedge undemote {view.name})"
    )


def undemotion_asked(view: ClusterView, command: UndemoteBrokers, _: Lookups = NOTHING) -> CommandDecision:
    """Raises CommandRefused for a broker that is not there. What is slow stays demoted: only its cure ends that."""
    there = [_broker(view, broker) for broker in dict.fromkeys(command.brokers)]
    held = view.requests.demotions
    ours = tuple(i.key for i in there if i.key in held and held[i.key].by_person and not held[i.key].ended)
    if not ours:
        slow = [i.key for i in there if i.key in held and not held[i.key].by_person]
        if slow:
            message = f"{slow[0]} is demoted as it is slow, by nobody's word: {held[slow[0]].reason}"
            off = f"kedge healing off {view.name} --kind slow-broker"
            raise CommandRefused("demoted-as-slow", message, f"It ends once it is as fast as the others, or: {off}")
        return CommandDecision(None, f"{', '.join(i.key for i in there)}: not demoted")
    fact = facts.BrokersUndemoteRequested(ours, asked_by(command, command.reason))
    return CommandDecision(fact, f"{', '.join(ours)} may lead again and get their share of leaders back")


def _broker(view: ClusterView, broker: int) -> InstanceView:
    found = next((i for i in view.brokers() if i.service_id == broker), None)
    if found is None:
        ids = ", ".join(str(i.service_id) for i in view.brokers()) or "none"
        raise CommandRefused("no-broker", f"{view.name} has no broker {broker}", f"Its brokers: {ids}.")
    return found


def _serving(view: ClusterView, broker: int) -> InstanceView:
    found = _broker(view, broker)
    if found.lost or found.phase is not Phase.JOINED:
        what = "gone" if found.lost else str(found.phase)
        message = f"{found.key} is {what}: it does not serve, or is on its way in or out"
        raise CommandRefused("node-unsettled", message, f"Look at `kedge describe {view.name}`.")
    return found
