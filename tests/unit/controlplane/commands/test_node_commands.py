"""What people may ask for single nodes: what is recorded, what is refused and what they are told to do then."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.cluster.commands import CommandRefused, EvacuateBrokers, ReadmitBrokers, ReplaceNode, RestartServices
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView, EvacuationView
from controlplane.cluster.views.running_settings import ReplaceView, RollingRestartView
from controlplane.commands.deciders.decision import CommandDecision
from controlplane.commands.deciders.lookups import Lookups
from controlplane.commands.deciders.nodes import (
    asked_for,
    evacuation_asked,
    readmission_asked,
    replacement_asked,
    restart_asked,
)
from events import facts
from planner.observed import KafkaSnapshot
from tests.builders import BEFORE, NODES, a_document, a_partition, a_snapshot, a_view, an_instance
from tests.changed_view import changed_view

A, B = "brokers-a-0.g1", "brokers-b-0.g1"


def _cluster(**overrides: Any) -> ClusterView:
    return a_view(*(an_instance(node) for node in NODES), **overrides)


def _restart(view: ClusterView, **asked: Any) -> CommandDecision:
    values = {"name": "orders", "actor": "person:anna", "command_id": "c1", "reason": "new certificates", **asked}
    return restart_asked(view, RestartServices(**values))


def _replace(view: ClusterView, kafka: KafkaSnapshot | None = None, **asked: Any) -> CommandDecision:
    values = {"name": "orders", "actor": "person:anna", "command_id": "c1", "reason": "slow disk", **asked}
    return replacement_asked(view, ReplaceNode(**values), Lookups(kafka=kafka))


def _evacuate(view: ClusterView, kafka: KafkaSnapshot | None, *brokers: int) -> CommandDecision:
    command = EvacuateBrokers(name="orders", actor="person:anna", command_id="c1", reason="noises", brokers=brokers)
    return evacuation_asked(view, command, Lookups(kafka=kafka))


def _readmit(view: ClusterView, *brokers: int) -> CommandDecision:
    command = ReadmitBrokers(name="orders", actor="person:anna", command_id="c1", reason="", brokers=brokers)
    return readmission_asked(view, command)


def _refused(ask: Any) -> CommandRefused:
    with pytest.raises(CommandRefused) as refused:
        ask()
    return refused.value


def test_a_rolling_restart_names_every_service_that_serves_and_who_asked() -> None:
    fact = _restart(_cluster()).fact
    assert isinstance(fact, facts.RollingRestartRequested)
    assert (fact.keys, fact.reason) == (tuple(f"{n}.g1" for n in NODES), "asked by anna: new certificates")


def test_the_same_command_names_the_same_request_and_another_one_another() -> None:
    one, again, other = (_restart(_cluster(), command_id=c).fact for c in ("c1", "c1", "c2"))
    assert one == again
    assert one != other


@pytest.mark.parametrize(
    ("asked", "keys"),
    [
        ({"brokers": (1001,)}, (B,)),
        ({"brokers": (1001, 1000, 1001)}, (B, A)),
        ({"pool": "controllers"}, tuple(f"{n}.g1" for n in NODES[3:])),
    ],
)
def test_only_those_named_are_restarted(asked: dict[str, Any], keys: tuple[str, ...]) -> None:
    assert _restart(_cluster(), **asked).fact.keys == keys  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("asked", "code", "told"),
    [
        ({"brokers": (7,)}, "unknown-broker", "Brokers: 1000, 1001, 1002."),
        ({"brokers": (100,)}, "unknown-broker", "Brokers: 1000, 1001, 1002."),
        ({"pool": "proxies"}, "unknown-pool", "Pools: brokers, controllers."),
    ],
)
def test_a_name_that_nothing_has_is_refused_with_those_there_are(asked: dict[str, Any], code: str, told: str) -> None:
    refused = _refused(lambda: _restart(_cluster(), **asked))
    assert (refused.code, refused.what_next) == (code, told)


def test_a_second_rolling_restart_is_refused_with_how_far_the_first_one_is() -> None:
    running = RollingRestartView("r", (A, B), (B,), "asked by ben", BEFORE)
    refused = _refused(lambda: _restart(_cluster(rolling_restart=running)))
    assert refused.code == "restart-running"
    assert "1 of 2 services are done (asked by ben)" in str(refused)
    assert "kedge abort orders" in refused.what_next


def test_who_is_on_the_way_or_lost_is_not_restarted() -> None:
    view = a_view(
        an_instance(), an_instance("brokers-b-0", 2, Phase.LAUNCHED), an_instance("brokers-c-0", lost_at=BEFORE)
    )
    assert _restart(
        replace(view, instances={k: view.instances[k] for k in (A, "brokers-b-0.g2", "brokers-c-0.g1")})
    ).fact.keys == (A,)  # type: ignore[union-attr]


def test_a_paused_cluster_tells_that_it_begins_later() -> None:
    assert "kedge resume orders" in _restart(_cluster(paused="lunch")).sentence


# --- replace ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [{"broker": 1000}, {"node": "brokers-a-0"}])
def test_a_node_is_named_by_its_broker_or_by_its_name(asked: dict[str, Any]) -> None:
    assert _replace(_cluster(), **asked).fact == facts.NodeReplaceRequested(A, "asked by anna: slow disk", False)


@pytest.mark.parametrize("asked", [{}, {"broker": 1000, "node": "brokers-a-0"}])
def test_not_exactly_one_name_is_refused(asked: dict[str, Any]) -> None:
    assert _refused(lambda: _replace(_cluster(), **asked)).code == "name-one"


def test_of_a_node_with_two_vms_the_newer_one_is_meant() -> None:
    view = _cluster()
    newer = an_instance("brokers-a-0", 2)
    view = replace(view, instances={**view.instances, newer.key: newer})
    assert _replace(view, node="brokers-a-0").fact.key == newer.key  # type: ignore[union-attr]


def test_what_is_asked_already_is_answered_and_not_recorded_again() -> None:
    asked = _cluster(to_replace={A: ReplaceView("asked by ben", False, BEFORE)})
    assert _replace(asked, broker=1000) == CommandDecision(None, f"{A} is to be replaced already, asked by ben")


def test_a_lost_vm_is_replaced_without_being_asked() -> None:
    view = _cluster()
    gone = replace(view, instances={**view.instances, A: an_instance(lost_at=BEFORE)})
    assert _replace(gone, broker=1000).fact is None


def test_a_node_on_its_way_is_refused() -> None:
    view = _cluster()
    leaving = replace(view, instances={**view.instances, A: an_instance(phase=Phase.DRAINING)})
    assert _refused(lambda: _replace(leaving, broker=1000)).code == "node-unsettled"


ORDERS = a_partition("orders-0")
FIRST_BEHIND = a_partition("orders-0", isr=(1001, 1002))
OTHER_BEHIND = a_partition("orders-0", isr=(1000, 1002))


def test_another_broker_out_of_sync_refuses_it_with_the_partition() -> None:
    refused = _refused(lambda: _replace(_cluster(), a_snapshot(OTHER_BEHIND), broker=1000))
    assert refused.code == "not-whole"
    assert "orders-0" in str(refused)


def test_another_broker_down_refuses_it() -> None:
    down = a_snapshot(ORDERS, brokers=(1000, 1002), fenced=(1001,))
    assert "broker 1001 (rack b) is down" in str(_refused(lambda: _replace(_cluster(), down, broker=1000)))


@pytest.mark.parametrize(
    "kafka",
    [None, a_snapshot(ORDERS), a_snapshot(FIRST_BEHIND), a_snapshot(ORDERS, brokers=(1001, 1002), fenced=(1000,))],
)
def test_the_broken_one_itself_may_be_replaced_and_what_is_unknown_is_left_to_the_gates(
    kafka: KafkaSnapshot | None,
) -> None:
    assert _replace(_cluster(), kafka, broker=1000).fact is not None


def test_a_controller_is_not_replaced_while_another_one_lags() -> None:
    kafka = a_snapshot(ORDERS)
    late = replace(kafka.quorum.members[1], lag=5000)
    lagging = replace(
        kafka, quorum=replace(kafka.quorum, members=(kafka.quorum.members[0], late, kafka.quorum.members[2]))
    )
    assert "controller 101" in str(_refused(lambda: _replace(_cluster(), lagging, node="controllers-a-0")))
    assert _replace(_cluster(), lagging, node="controllers-b-0").fact is not None


def test_the_disk_of_a_controller_stays_where_no_majority_has_the_metadata_without_it() -> None:
    alone = changed_view(_cluster(), voters={100: _cluster().quorum.voters[100]})
    assert _refused(lambda: _replace(alone, node="controllers-a-0", new_disk=True)).code == "disk-stays"


def test_one_of_three_controllers_may_get_an_empty_disk() -> None:
    assert "the new one begins empty" in _replace(_cluster(), node="controllers-a-0", new_disk=True).sentence


def test_the_answer_says_what_becomes_of_the_disk() -> None:
    handed = _cluster(document=a_document(strategy="reattach", max_unavailable=1))
    assert "takes over its id and its disk" in _replace(handed, broker=1000).sentence
    assert "copied everything" in _replace(handed, broker=1000, new_disk=True).sentence
    assert "copied everything" in _replace(_cluster(), broker=1000).sentence


def test_what_was_asked_for_an_instance_is_told_in_words() -> None:
    view = _cluster(
        to_replace={A: ReplaceView("asked by ben", False, BEFORE)},
        evacuations={A: EvacuationView("asked by eva", BEFORE, BEFORE), B: EvacuationView("asked by eva", BEFORE)},
        rolling_restart=RollingRestartView("r", (A, B), (B,), "asked by anna", BEFORE),
    )
    assert asked_for(view, A) == "to be replaced, asked by ben; kept empty, asked by eva"
    assert asked_for(view, B) == "to be empty, asked by eva; to be started anew, asked by anna"
    assert asked_for(view, "brokers-c-0.g1") == ""


# --- evacuate, readmit ------------------------------------------------------------------------------------------

TWO_OF_THREE = a_snapshot(a_partition("orders-0", (1000, 1001)))


def test_an_evacuation_is_recorded_with_what_has_to_move() -> None:
    asked = _evacuate(_cluster(), a_snapshot(a_partition("x-0", (1001, 1002))), 1000)
    assert asked.fact == facts.EvacuationRequested((A,), "asked by anna: noises")
    assert "they hold 0 partitions" in asked.sentence


def test_an_evacuation_without_room_is_refused_with_the_numbers() -> None:
    refused = _refused(lambda: _evacuate(_cluster(), a_snapshot(ORDERS), 1000))
    assert refused.code == "no-room"
    assert "orders-0 has 3 replicas, and 2 brokers would be left" in str(refused)


def test_brokers_that_are_kept_empty_already_are_no_room() -> None:
    kept = _cluster(evacuations={B: EvacuationView("asked by ben", BEFORE, BEFORE)})
    assert "1 brokers would be left" in str(_refused(lambda: _evacuate(kept, TWO_OF_THREE, 1000)))


def test_without_metadata_nobody_knows_whether_there_is_room() -> None:
    assert _refused(lambda: _evacuate(_cluster(), None, 1000)).code == "kafka-unknown"


def test_a_lost_broker_is_not_evacuated() -> None:
    view = _cluster()
    gone = replace(view, instances={**view.instances, A: an_instance(lost_at=BEFORE)})
    assert _refused(lambda: _evacuate(gone, TWO_OF_THREE, 1000)).code == "node-unsettled"


def test_a_broker_whose_node_is_being_replaced_is_not_evacuated() -> None:
    view = _cluster()
    newer = an_instance("brokers-a-0", 2)
    pair = replace(view, instances={**view.instances, newer.key: newer})
    assert "is being replaced" in str(_refused(lambda: _evacuate(pair, TWO_OF_THREE, 1010)))


def test_an_evacuation_is_asked_once_and_taken_back_once() -> None:
    kept = _cluster(evacuations={A: EvacuationView("asked by ben", BEFORE)})
    assert _evacuate(kept, TWO_OF_THREE, 1000).fact is None
    assert _readmit(kept, 1000, 1001).fact == facts.EvacuationEnded((A,), "asked by anna")
    assert _readmit(_cluster(), 1000).fact is None
