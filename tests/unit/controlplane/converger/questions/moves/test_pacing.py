"""Throttles corrected by the brokers' own traffic: which brokers, by what, in which words, and after a restart."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.traffic import Traffic
from controlplane.converger.questions.moves.pacing import Pace, paced
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.effects import SetThrottle
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.rolls.drains import drain_step
from events.instance_facts import PlannedDisk, PlannedPlace, PlannedVolume
from planner.drain.plan import DrainPlan, Port
from planner.drain.throttle import KAFKA_REACHES
from planner.observed import KafkaSnapshot, PartitionSeen, ThrottlesSeen, TopicPartition
from planner.quantities import human_bytes
from tests.builders import (
    NOW,
    a_document,
    a_drain,
    a_move,
    a_partition,
    a_plan,
    a_situation,
    a_snapshot,
    a_view,
    an_instance,
)

MIB = 2**20
PROMISE = 75 * MIB
PORT = Port(None, PROMISE, round(PROMISE / KAFKA_REACHES), 0)
ONE, TWO = a_move("orders-0"), a_move("orders-1")
MOVES = (ONE, TWO)
PLAN = a_plan(MOVES, into={1010: PORT}, out=dict.fromkeys((1000, 1001, 1002), PORT))
NAMES = (TopicPartition("orders", 0), TopicPartition("orders", 1))


AS_PLANNED = ThrottlesSeen(
    dict.fromkeys((1000, 1001, 1002), PORT.quota_bytes_per_s), {1010: PORT.quota_bytes_per_s}, frozenset({"orders"})
)


def _moving(name: str, *, leader: int, isr: tuple[int, ...] = (1000, 1001, 1002)) -> PartitionSeen:
    return a_partition(name, (1010, *isr[:3]), leader=leader, isr=isr, adding=(1010,), removing=(1000,))


def _kafka(*partitions: PartitionSeen, throttles: ThrottlesSeen | None = None) -> KafkaSnapshot:
    there = partitions or (_moving("orders-0", leader=1000), _moving("orders-1", leader=1002))
    return a_snapshot(*there, brokers=(1000, 1001, 1002, 1010), throttles=throttles or AS_PLANNED)


def _writes(one: float | None, two: float | None, **more: Any) -> Traffic:
    known = {n: float(w) for n, w in zip(NAMES, (one, two), strict=True) if w is not None}
    return Traffic(**{"write_bytes_per_s": known, "at": NOW, "over_s": 30, **more})


def _situation(kafka: KafkaSnapshot, traffic: Traffic, plan: DrainPlan = PLAN, document: Any = None) -> Situation:
    there = (an_instance("brokers-a-0", 1, Phase.DRAINING), an_instance("brokers-a-0", 2))
    rest = tuple(an_instance(n) for n in ("brokers-b-0", "brokers-c-0"))
    view = a_view(*there, *rest, drain=a_drain(), **({"document": document} if document else {}))
    return a_situation(view, kafka=kafka, plan=plan, plan_sha256="sha", traffic=traffic)


def _paced(traffic: Traffic, kafka: KafkaSnapshot | None = None, document: Any = None) -> Pace:
    kafka = kafka or _kafka()
    return paced(_situation(kafka, traffic, document=document), PLAN, kafka, MOVES, ())


def _copies_get(rate: int, charge: float) -> int:
    return round((rate * KAFKA_REACHES - charge) / MIB)


def test_a_source_is_charged_for_each_follower_in_sync_of_what_it_leads() -> None:
    """Two followers each, read from 1000 and from 1002, which have 90 MiB/s; 1001 is read by nobody."""
    pace = _paced(_writes(10 * MIB, 8 * MIB))
    rates = pace.throttle.leader_bytes_per_s
    assert (_copies_get(rates[1000], 20 * MIB), _copies_get(rates[1002], 16 * MIB)) == (70, 74)
    assert rates[1001] == PORT.quota_bytes_per_s


def test_where_head_room_is_ample_copies_get_the_promise_beside_the_charge() -> None:
    kafka = _kafka()
    situation = _situation(kafka, _writes(10 * MIB, 0))
    grown = {k: replace(i, planned=replace(i.planned, shape="large")) for k, i in situation.view.instances.items()}
    situation = replace(situation, view=replace(situation.view, instances=grown))
    rates = paced(situation, PLAN, kafka, MOVES, ()).throttle.leader_bytes_per_s
    assert _copies_get(rates[1000], 20 * MIB) == 75


def test_a_target_is_charged_only_once_its_copy_has_caught_up() -> None:
    still = _paced(_writes(20 * MIB, 0))
    assert still.throttle.follower_bytes_per_s == {1010: PORT.quota_bytes_per_s}
    arrived = _kafka(_moving("orders-0", leader=1000, isr=(1000, 1001, 1002, 1010)), _moving("orders-1", leader=1002))
    rate = _paced(_writes(10 * MIB, 0), arrived).throttle.follower_bytes_per_s[1010]
    assert _copies_get(rate, 10 * MIB) == 75


def test_what_consumers_read_leaves_a_source_less() -> None:
    pace = _paced(_writes(0, 0, read_bytes_per_s={1000: 40 * MIB}))
    assert _copies_get(pace.throttle.leader_bytes_per_s[1000], 0) == 50
    planned, due = (human_bytes(rate * MIB / KAFKA_REACHES) for rate in (75, 50))
    why = "its own traffic of 40.0 MiB/s leaves copies 50.0 MiB/s"
    assert pace.said == f"rate out of broker 1000 {planned}/s -> {due}/s: {why}"


def test_partitions_that_do_not_move_are_own_traffic_too() -> None:
    other = a_partition("payments-0", (1000, 1001, 1002))
    kafka = _kafka(*_kafka().partitions, other)
    busy = replace(_writes(0, 0), write_bytes_per_s={**_writes(0, 0).write_bytes_per_s, other.name: 20.0 * MIB})
    rates = _paced(busy, kafka).throttle.leader_bytes_per_s
    assert (_copies_get(rates[1000], 0), _copies_get(rates[1002], 0)) == (50, 75)


def test_a_server_that_knows_no_rates_yet_leaves_what_it_finds() -> None:
    found = ThrottlesSeen({1000: 50 * MIB, 1001: 95 * MIB, 1002: 95 * MIB}, {1010: 60 * MIB}, frozenset({"orders"}))
    pace = _paced(Traffic(), _kafka(throttles=found))
    assert pace.throttle.seen == found
    assert pace.said == ""


def test_rates_that_are_old_correct_nothing() -> None:
    old = _writes(10 * MIB, 8 * MIB, at=NOW - timedelta(seconds=31))
    assert _paced(old).throttle.leader_bytes_per_s == dict.fromkeys((1000, 1001, 1002), PORT.quota_bytes_per_s)


def test_one_unknown_rate_keeps_the_throttle_of_its_source_alone() -> None:
    found = ThrottlesSeen(dict.fromkeys((1000, 1001, 1002), 60 * MIB), {1010: 60 * MIB}, frozenset({"orders"}))
    rates = _paced(_writes(None, 8 * MIB), _kafka(throttles=found)).throttle.leader_bytes_per_s
    assert rates[1000] == 60 * MIB
    assert _copies_get(rates[1002], 16 * MIB) == 74


def test_a_rate_somebody_left_behind_is_not_taken_over_by_a_drain_that_begins() -> None:
    left = ThrottlesSeen(dict.fromkeys((1000, 1001, 1002), 1), {}, frozenset())
    home = tuple(a_partition(f"orders-{n}") for n in (0, 1))
    kafka = _kafka(*home, throttles=left)
    pace = paced(_situation(kafka, Traffic()), PLAN, kafka, (), MOVES)
    assert set(pace.throttle.leader_bytes_per_s.values()) == {PORT.quota_bytes_per_s}


def test_a_cap_in_the_spec_bounds_a_correction() -> None:
    document = a_document()
    rollout = document.spec.rollout.model_copy(update={"throttle_mib_per_s": 30})
    capped = document.model_copy(update={"spec": document.spec.model_copy(update={"rollout": rollout})})
    rates = _paced(_writes(10 * MIB, 0), document=capped).throttle.leader_bytes_per_s
    assert rates[1000] == 30 * MIB


def test_the_first_throttles_reach_the_promise_beside_the_charge_and_are_no_correction() -> None:
    home = tuple(a_partition(f"orders-{n}") for n in (0, 1))
    kafka = _kafka(*home)
    pace = paced(_situation(kafka, _writes(2 * MIB, 1 * MIB)), PLAN, kafka, (), MOVES)
    assert _copies_get(pace.throttle.leader_bytes_per_s[1000], 6 * MIB) == 75
    assert pace.said == ""


def test_many_corrections_are_told_short() -> None:
    pace = _paced(_writes(0, 0, read_bytes_per_s=dict.fromkeys((1000, 1002), 40 * MIB)))
    assert pace.said.count("rate out of broker") == 2
    arrived = _kafka(_moving("orders-0", leader=1000, isr=(1000, 1001, 1002, 1010)), _moving("orders-1", leader=1002))
    busy = _writes(15 * MIB, 0, read_bytes_per_s={1002: 60.0 * MIB})
    assert _paced(busy, arrived).said.endswith("; and 1 more")


# --- in the tick ------------------------------------------------------------------------------------------------------


def _step(traffic: Traffic, kafka: KafkaSnapshot) -> Decision:
    decision = drain_step(_situation(kafka, traffic))
    assert decision is not None
    return decision


def test_a_tick_that_corrects_says_when_and_why_and_the_next_one_does_nothing() -> None:
    busy = _writes(10 * MIB, 8 * MIB)
    first = _step(busy, _kafka())
    assert "2 running" in first.sentence
    assert "its own traffic of 20.0 MiB/s leaves copies 70.0 MiB/s, 20.0 MiB/s of traffic in sync" in first.sentence
    (throttle,) = first.effects
    assert isinstance(throttle, SetThrottle)
    again = _step(busy, _kafka(throttles=throttle.plan.seen))
    assert again.effects == ()
    assert "rate out of" not in again.sentence


def test_a_move_is_handed_over_under_the_rate_that_is_due() -> None:
    home = (a_partition("orders-0"), a_partition("orders-1"))
    decision = _step(_writes(0, 0, read_bytes_per_s={1000: 40 * MIB}), _kafka(*home))
    throttle = decision.effects[0]
    assert isinstance(throttle, SetThrottle)
    assert _copies_get(throttle.plan.leader_bytes_per_s[1000], 0) == 50
    assert decision.sentence.endswith("its own traffic of 40.0 MiB/s leaves copies 50.0 MiB/s")


def test_who_takes_gives_and_is_written_to_shares_its_volumes() -> None:
    """Volumes of 200 MiB/s, of which a tenth stays free; 80 MiB/s are written by producers and leaders."""
    kafka = _kafka(*_kafka().partitions, a_partition("payments-0", (1002,), leader=1002))
    traffic = _writes(0, 0)
    traffic = replace(traffic, write_bytes_per_s={**traffic.write_bytes_per_s, TopicPartition("payments", 0): 80 * MIB})
    plan = replace(PLAN, into={1010: PORT, 1002: PORT})
    situation = _situation(kafka, traffic, plan)
    disk = PlannedVolume("data", "data", 1, "persistent", 500, "d", PlannedDisk("gp3", throughput_mib_per_s=200))
    made = {"shape": "m7g.2xlarge", "place": PlannedPlace("aws", "", "", ""), "volumes": (disk,)}
    instances = {k: replace(i, planned=replace(i.planned, **made)) for k, i in situation.view.instances.items()}
    situation = replace(situation, view=replace(situation.view, instances=instances))
    pace = paced(situation, plan, kafka, MOVES, ())
    assert _copies_get(pace.throttle.leader_bytes_per_s[1002], 0) == 50
    assert pace.throttle.follower_bytes_per_s[1010] == PORT.quota_bytes_per_s
    assert "its volumes leave copies 50.0 MiB/s beside what else is written to them" in pace.said
