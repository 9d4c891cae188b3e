"""The end of a cluster. Only a tombstone that names it leads here; an empty or missing spec never does.

    tombstone -> brokers stop -> quorum.stop_requested -> controllers, ZooKeeper servers stop -> destroy.requested

A broker shuts down in order with the help of its controllers or ZooKeeper servers: one that loses them waits for them
until its agent kills it.
"""

from datetime import datetime

from controlplane.cluster.places import by_place
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.members import services_on
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.documents import is_doomed
from controlplane.converger.questions.services.service_reports import service_report
from controlplane.converger.situation.decision import Decision, record, wait
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.clouds.intents import intent_step
from events import facts
from events.ids import intent_id
from events.quantities import counted, named

STOP_WITHIN_S = 90.0
"""How long brokers get to stop before their controllers do, and these before all VMs are destroyed all the same: the
data is going anyway."""


def deletion_step(situation: Situation) -> Decision | None:
    """Ends what is running, then destroys or lets go, as the spec's deletion policy says."""
    view = situation.view
    if not view.requests.tombstone or view.document is None:
        return None
    running = _still_running(situation)
    told = _quorum_stop(situation, running)
    if told is not None:
        return told
    open_intent = intent_step(situation)
    if open_intent is not None:
        return open_intent
    if view.document.spec.deletion_policy == "retain":
        return record("deleted; its VMs and volumes stay, as its policy says", facts.ClusterDeleted(retained=True))
    if not view.alive():
        return record("deleted; it had no VM", facts.ClusterDeleted(retained=False))
    awaited = [s for s in running if _has_time(situation, _asked_at(view, s))]
    if awaited:
        return wait(WaitReason.STOPPING, f"deleting: {_to_stop(awaited)}")
    return record(f"destroying {len(view.alive())} VMs", *_destroy(view))


def _quorum_stop(situation: Situation, running: list[InstanceView]) -> Decision | None:
    """Tells controllers and ZooKeeper servers that run to stop, once no broker is waited for any more."""
    view = situation.view
    brokers, quorum = [s for s in running if s.is_broker], [s for s in running if not s.is_broker]
    if not is_doomed(view) or view.requests.quorum_stop_at is not None or not quorum:
        return None
    if brokers and _has_time(situation, view.requests.tombstone_at):
        return None
    left = f"{named([b.key for b in brokers])} did not stop within {STOP_WITHIN_S:.0f} s"
    reason = left if brokers else "all brokers have stopped"
    return record(f"telling the {_noun(quorum)}s to stop: {reason}", facts.QuorumStopRequested(reason))


def _asked_at(view: ClusterView, service: InstanceView) -> datetime | None:
    return view.requests.tombstone_at if service.is_broker else view.requests.quorum_stop_at


def _has_time(situation: Situation, told_at: datetime | None) -> bool:
    return told_at is not None and situation.seconds_since(told_at) < STOP_WITHIN_S


def _to_stop(running: list[InstanceView]) -> str:
    verb, first = ("is", "") if len(running) == 1 else ("are", " among them")
    return f"{counted(len(running), _noun(running))} {verb} still to stop, {running[0].service_key}{first}"


def _noun(services: list[InstanceView]) -> str:
    kinds = {s.planned.service for s in services}
    return _NOUNS[kinds.pop()] if len(kinds) == 1 else "service"


def _destroy(view: ClusterView) -> list[facts.DestroyRequested]:
    """A run for each place: each has a state of its own."""
    places = by_place(view, view.alive())
    if len(places) == 1:
        return [facts.DestroyRequested(intent_id(view.uid, "destroy", view.name, 1))]
    return [
        facts.DestroyRequested(
            intent_id(view.uid, "destroy", f"{view.name} in {place}", 1), tuple(i.key for i in there)
        )
        for place, there in places.items()
    ]


def _still_running(situation: Situation) -> list[InstanceView]:
    """Services whose agent last said that they run. Nobody answers for a VM that is gone."""
    inventory = situation.seen.fresh_inventory(situation.now)
    gone = inventory.gone if inventory is not None else frozenset[str]()
    alive = [i for i in situation.view.alive() if i.bound and not i.lost and i.key not in gone]
    reports = [(s, service_report(situation, s)) for i in alive for s in services_on(i)]
    return [s for s, report in reports if report is not None and report.state not in ("stopped", "failed")]


_NOUNS = {"broker": "broker", "controller": "controller", "zookeeper": "ZooKeeper server"}
