"""The end of a cluster. Only a tombstone that names it leads here; an empty or missing spec never does."""

from controlplane.cluster.places import by_place
from controlplane.cluster.view import ClusterView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.services.service_reports import service_report
from controlplane.converger.situation.decision import Decision, record, wait
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.clouds.intents import intent_step
from events import facts
from events.ids import intent_id

STOP_WITHIN_S = 90.0
"""How long services get to stop before their VMs are destroyed all the same: the data is going anyway."""


def deletion_step(situation: Situation) -> Decision | None:
    """Ends what is running, then destroys or lets go, as the spec's deletion policy says."""
    view = situation.view
    if not view.requests.tombstone or view.document is None:
        return None
    open_intent = intent_step(situation)
    if open_intent is not None:
        return open_intent
    if view.document.spec.deletion_policy == "retain":
        return record("deleted; its VMs and volumes stay, as its policy says", facts.ClusterDeleted(retained=True))
    if not view.alive():
        return record("deleted; it had no VM", facts.ClusterDeleted(retained=False))
    running = _still_running(situation)
    if running and view.requests.tombstone_at and situation.seconds_since(view.requests.tombstone_at) < STOP_WITHIN_S:
        return wait(
            WaitReason.STOPPING, f"deleting: {len(running)} services are still to stop, {running[0]} among them"
        )
    return record(f"destroying {len(view.alive())} VMs", *_destroy(view))


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


def _still_running(situation: Situation) -> list[str]:
    """Instances whose agent last said that its service runs."""
    alive = [i for i in situation.view.alive() if i.bound and not i.lost]
    reports = [(i.key, service_report(situation, i)) for i in alive]
    return [key for key, report in reports if report is not None and report.state not in ("stopped", "failed")]
