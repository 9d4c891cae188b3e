"""A broker whose disk is gone and that cannot start: it is replaced first, whatever else waits for it."""

from collections.abc import Mapping
from typing import Any

from agent.wire import DIRECTORY_LOST
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.running_settings import ReplaceView
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.rolls.stop_gates import unhealthy_broker_gate
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.rolls.handovers import handover_step
from controlplane.converger.steps.rolls.replacements import replacement_step
from events import facts
from tests.builders import BEFORE, a_document, a_partition, a_report, a_situation, a_snapshot, a_view, an_instance

DOWN, OTHER = an_instance("brokers-a-0"), an_instance("brokers-c-0")
SUCCESSOR = an_instance("brokers-c-0", 2, Phase.LAUNCHED, handover=True, bound=False, service_id=OTHER.service_id)
FINDING = {"name": f"{DIRECTORY_LOST}:data", "since": BEFORE, "message": "no meta.properties"}
WITHOUT = a_snapshot(a_partition(isr=(1001, 1002), leader=1001), brokers=(1001, 1002))
MOVING = a_snapshot(a_partition(isr=(1001, 1002), leader=1001, adding=(1000,)), brokers=(1001, 1002))


def _asked(*, disks: tuple[str, ...] = (), new_disk: bool = False) -> ReplaceView:
    return ReplaceView("healing of hung moves", new_disk=new_disk, requested_at=BEFORE, disks=disks)


def _situation(*instances: InstanceView, kafka: Any = WITHOUT, **view: Any) -> Situation:
    there = a_view(*instances, document=a_document(strategy="reattach", max_unavailable=1), recycling=1, **view)
    told = {i.key: a_report(i) for i in there.alive()}
    told |= {DOWN.key: a_report(DOWN, "failed", findings=(FINDING,)), SUCCESSOR.key: a_report(SUCCESSOR, "")}
    return a_situation(there, kafka=kafka, reports=told)


def _handed(to_replace: Mapping[str, ReplaceView]) -> Decision | None:
    return handover_step(_situation(SUCCESSOR, to_replace=to_replace))


def test_a_handover_that_waits_for_it_lets_its_replacement_begin() -> None:
    """Seed 24025: the successor could not settle before the broker served, and no VM was made before the successor
    settled."""
    waits = _handed({})
    assert waits is not None
    assert waits.wait is not None
    assert _handed({DOWN.key: _asked()}) is None
    decision = replacement_step(_situation(SUCCESSOR, to_replace={DOWN.key: _asked(disks=("data",))}))
    assert decision is not None
    (surge,) = decision.events
    assert isinstance(surge, facts.SurgeRequested)
    assert [(p.node, p.new_dirs) for p in surge.instances] == [("brokers-a-0", ("data",))]


def test_it_is_asked_for_though_a_handover_waits_for_it() -> None:
    decision = decide(_situation(SUCCESSOR))
    kinds = [type(e) for e in decision.events]
    assert kinds[:2] == [facts.HealingRequested, facts.NodeReplaceRequested]


def test_moves_onto_it_do_not_keep_it_from_its_successor() -> None:
    """Seed 24002: they cannot end before it serves again."""
    situation = _situation(kafka=MOVING)
    assert unhealthy_broker_gate(situation, MOVING, DOWN).open
    serving = a_snapshot(a_partition(adding=(1000,)))
    assert not unhealthy_broker_gate(situation, serving, DOWN).open


def test_a_successor_made_before_the_disk_was_lost_goes_again() -> None:
    """Seed 24049: it was given the empty disk, could not start, and so could not its successors."""
    decision = _handed({OTHER.key: _asked(disks=("data",))})
    assert decision is not None
    (retire,) = decision.events
    assert isinstance(retire, facts.RetireRequested)
    assert retire.keys == (SUCCESSOR.key,)
