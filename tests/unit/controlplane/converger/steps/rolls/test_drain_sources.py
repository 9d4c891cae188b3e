"""What a drain puts in charge before it copies: directories, sources and leaders; and what would stop writes waits."""

from dataclasses import replace

from controlplane.converger.situation.effects import (
    ClearThrottles,
    ElectPreferred,
    PreferLogDirs,
    Reassign,
    SetThrottle,
)
from planner.observed import ThrottlesSeen, TopicPartition
from tests.builders import (
    a_document,
    a_move,
    a_partition,
    a_plan,
)
from tests.unit.controlplane.converger.steps.rolls.drain_cases import (
    AT_HOME,
    ONE,
    TWO,
    drain_decision,
    moved,
    moving,
    reason_of,
)

# --- log directories --------------------------------------------------------------------------------------------------

SHELVED = replace(ONE, log_dirs=("/a",))


def test_brokers_hear_of_their_directories_before_the_moves() -> None:
    _, wish, reassign = drain_decision(AT_HOME[0], plan=a_plan([SHELVED])).effects
    assert wish == PreferLogDirs({1010: {ONE.name: "/a"}})
    assert reassign == Reassign({ONE.name: ONE.after})


def test_a_move_that_runs_is_not_told_again() -> None:
    plan = a_plan([SHELVED, TWO])
    effects = drain_decision(moving("orders-0"), *AT_HOME[1:], plan=plan).effects
    assert not [e for e in effects if isinstance(e, PreferLogDirs)]
    assert effects[-1] == Reassign({TWO.name: TWO.after})


def test_a_directory_left_to_kafka_is_not_named() -> None:
    effects = drain_decision(AT_HOME[0], plan=a_plan([replace(ONE, log_dirs=("",))])).effects
    assert [type(e) for e in effects] == [SetThrottle, Reassign]


# --- sources ----------------------------------------------------------------------------------------------------------

READ = replace(ONE, source=1002)


def test_the_source_is_put_in_charge_before_its_copy() -> None:
    _, order, election, reassign = drain_decision(AT_HOME[0], plan=a_plan([READ])).effects
    assert order == Reassign({ONE.name: (1002, 1000, 1001)})
    assert election == ElectPreferred((ONE.name,))
    assert reassign == Reassign({ONE.name: ONE.after})


def test_a_transfer_that_was_made_before_a_crash_is_gone_on_from() -> None:
    led = a_partition("orders-0", (1002, 1000, 1001), leader=1002)
    assert [type(e) for e in drain_decision(led, plan=a_plan([READ])).effects] == [SetThrottle, Reassign]


def test_a_source_out_of_sync_is_not_put_in_charge() -> None:
    late = a_partition("orders-0", isr=(1000, 1001))
    assert drain_decision(late, plan=a_plan([READ])).effects[-1] == Reassign({ONE.name: ONE.after})
    assert not [e for e in drain_decision(late, plan=a_plan([READ])).effects if isinstance(e, ElectPreferred)]


def test_no_broker_is_put_in_charge_of_too_much() -> None:
    """H7: twice what the fullest leads, here two of two."""
    led = [a_partition(f"orders-{n}", leader=1000 if n < 5 else 1002) for n in range(6)]
    moves = [replace(a_move(f"orders-{n}"), source=1002) for n in range(5)]
    elected = [e for e in drain_decision(*led, plan=a_plan(moves)).effects if isinstance(e, ElectPreferred)]
    assert len(elected[0].partitions) == 5
    one = [a_partition("orders-0"), a_partition("orders-1", leader=1001), a_partition("orders-2", leader=1002)]
    both = drain_decision(*one, plan=a_plan([replace(a_move(f"orders-{n}"), source=1002) for n in range(2)]))
    assert [e.partitions for e in both.effects if isinstance(e, ElectPreferred)] == [(TopicPartition("orders", 0),)]


def test_leadership_goes_where_the_plan_wants_it_when_the_drain_ends() -> None:
    led = a_partition("orders-0", (1010, 1001, 1002), leader=1002)
    decision = drain_decision(led, plan=a_plan([READ]), throttles=ThrottlesSeen(topics=frozenset({"orders"})))
    assert decision.effects == (ClearThrottles(), ElectPreferred((ONE.name,)))


def test_changes_of_order_come_after_the_copies_and_take_no_slot() -> None:
    order = a_move("payments-0", (1001, 1002), (1002, 1001))
    order = replace(order, bytes=0)
    at_home = a_partition("payments-0", (1001, 1002))
    plan = a_plan([ONE, order], slots=1)
    assert drain_decision(AT_HOME[0], at_home, plan=plan).effects[-1] == Reassign({ONE.name: ONE.after})
    assert drain_decision(moving("orders-0"), at_home, plan=plan).effects[-1] == Reassign({order.name: order.after})


def test_a_move_that_would_stop_writes_waits_and_names_the_topic() -> None:
    """Seen on real brokers: while a partition of one replica moves, two are assigned and min ISR 2 applies."""
    single = a_partition("logs-0", (1000,), min_isr=1, configured_min_isr=2)
    decision = drain_decision(single, plan=a_plan([a_move("logs-0", (1000,))]))
    assert (decision.effects, reason_of(decision)) == ((), "MinIsrGate")
    assert "logs-0 would refuse writes" in decision.sentence
    assert decision.wait is not None
    assert "rollout.allowUnavailable" in decision.wait.next_command


def test_an_excused_topic_moves_all_the_same() -> None:
    text = a_document(pause="false, allowUnavailable: [logs]")
    single = a_partition("logs-0", (1000,), min_isr=1, configured_min_isr=2)
    decision = drain_decision(single, plan=a_plan([a_move("logs-0", (1000,))]), view={"document": text})
    assert isinstance(decision.effects[-1], Reassign)


def test_what_may_move_moves_while_the_rest_waits() -> None:
    single = a_partition("logs-0", (1000,), min_isr=1, configured_min_isr=2)
    plan = a_plan([ONE, a_move("logs-0", (1000,))])
    assert drain_decision(AT_HOME[0], single, plan=plan).effects[-1] == Reassign({ONE.name: ONE.after})
    assert reason_of(drain_decision(moving("orders-0"), single, plan=plan)) == "DrainMoves"
    assert reason_of(drain_decision(moved("orders-0"), single, plan=plan)) == "MinIsrGate"
