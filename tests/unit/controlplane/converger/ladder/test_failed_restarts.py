"""A restart that failed is what explains a cluster: what waits for that broker does not hide it, and where a new VM is
only put off, the sentence says when it is tried again."""

from datetime import timedelta
from typing import Any

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.views.running_settings import Before, RestartView
from controlplane.cluster.wait_reasons import is_for_a_person
from controlplane.converger.ladder.decide import decide
from controlplane.converger.situation.decision import Decision
from events import facts
from planner.healing import Cure, PastCure
from tests.builders import (
    NODES,
    NOW,
    a_document,
    a_partition,
    a_report,
    a_situation,
    a_snapshot,
    a_view,
    an_instance,
)

A = "brokers-a-0.g1"
SUCCESSOR = an_instance("brokers-c-0", 2, Phase.LAUNCHED, service_id=1002, handover=True, bound=False)
AWAY = a_snapshot(a_partition("orders-0", isr=(1001, 1002)), brokers=(1001, 1002), fenced=(1000,))
CURED_AT = NOW - timedelta(minutes=9)


def _decide(*cures: PastCure, since_s: float = 190, **restart: Any) -> Decision:
    """A broker is not back from the second start of a restart, and its neighbour is to be handed over."""
    values: dict[str, Any] = {"new_settings": False, "reverting": "not back in sync after 120 s: starting", **restart}
    view = a_view(
        *(an_instance(node) for node in NODES),
        SUCCESSOR,
        document=a_document(strategy="reattach", max_unavailable=1, healing="perDay: 4"),
        generation=1,
        recycling=1,
        restarts={A: RestartView(A, 1, NOW - timedelta(seconds=since_s), False, Before({}, None), **values)},
        cures=cures,
    )
    reports = {i.key: a_report(i) for i in view.alive()}
    reports[A] = a_report(view.instances[A], "starting")
    reports[SUCCESSOR.key] = a_report(SUCCESSOR, "")
    return decide(a_situation(view, kafka=AWAY, reports=reports))


def test_a_handover_that_waits_does_not_hide_that_the_restart_of_another_failed() -> None:
    """`kedge describe` told only that the handover waits for a broker that is being restarted."""
    decision = _decide(PastCure("brokers-a-0", "wrong_identity", Cure.RESTART, CURED_AT))
    (told,) = (e for e in decision.events if isinstance(e, facts.ConditionChanged) and e.type == "Blocked")
    assert told.reason == "RestartFailed"
    assert told.message == (
        "brokers-a-0.g1 is not back after another start either (starting after 190 s); no new VM: brokers-a-0 had its "
        "restart at 11:51 UTC: the next cure at 12:01 UTC at the earliest"
    )
    assert decision.wait is not None
    assert decision.wait.until == CURED_AT + timedelta(minutes=10)


def test_a_failed_restart_that_is_tried_again_by_itself_is_nobodys_to_end_and_another_one_is() -> None:
    again = _decide(PastCure("brokers-a-0", "wrong_identity", Cure.RESTART, CURED_AT)).wait
    ended = _decide(new_settings=True).wait
    assert (again and again.next_command, ended and ended.next_command) == ("", "kedge describe orders")
    assert not is_for_a_person("RestartFailed", "tried again")
    assert is_for_a_person("RestartFailed", "not. Next: kedge describe orders")


def test_one_that_may_yet_come_back_is_waited_for_in_the_words_of_the_handover() -> None:
    decision = _decide(since_s=60)
    assert decision.sentence.startswith("handover of brokers-c-0: broker 1000 (brokers-a-0.g1, rack a) is away since")
