"""The table behind `wait`: what is reached, what can still come, what needs a person."""

import pytest

from controlplane.api.schemas import clusters as api
from controlplane.cli.waiting import (
    ConditionIs,
    Converged,
    Deleted,
    Done,
    Failed,
    Goal,
    NodeReplaced,
    Pending,
    judge,
    message_of,
    next_command,
)
from tests.unit.controlplane.cli.cli_world import condition, detail, instance, rolling

WANTED = Converged(2, "u1")
REPLACED = NodeReplaced("brokers-a-0", "brokers-a-0.g1", "u1")


def blocked(reason: str, message: str = "stuck") -> api.ClusterDetailOut:
    return rolling(status="Blocked", conditions=[condition("Blocked", True, reason, message)])


def test_whoever_waits_for_a_cluster_whose_ticks_fail_reads_why() -> None:
    message = "each tick fails since noon: ValueError: 'producer'. Next: kedge events orders"
    failing = condition("TickFailing", True, "Unexpected", message)
    told = judge(WANTED, "orders", rolling(status="Blocked", sentence="a step further", conditions=[failing]))
    assert told == Pending("TickFailing: each tick fails since noon: ValueError: 'producer'")
    over = condition("TickFailing", False, "Free", "")
    told = judge(WANTED, "orders", rolling(sentence="a step further", conditions=[over]))
    assert told == Pending("a step further")


@pytest.mark.parametrize(
    ("goal", "seen", "end", "reason"),
    [
        # Converged: pinned to a generation.
        (WANTED, detail(), Done, ""),
        (WANTED, rolling(), Pending, ""),
        (WANTED, detail(converged_generation=1), Pending, ""),
        (WANTED, detail(generation=3, converged_generation=2, status="Working"), Done, ""),
        (WANTED, detail(generation=3, converged_generation=1, status="Working"), Failed, "Superseded"),
        (WANTED, detail(generation=1, converged_generation=1), Pending, ""),
        # Converged once, but a VM was lost since.
        (WANTED, detail(status="Working"), Pending, ""),
        # Paused: converged or never.
        (WANTED, detail(status="Paused", paused="lunch"), Done, ""),
        (WANTED, rolling(status="Paused", paused="lunch"), Failed, "Paused"),
        (WANTED, rolling(status="Paused"), Failed, "Paused"),
        (WANTED, rolling(status="Deleting"), Failed, "Deleting"),
        (WANTED, rolling(status="Unreadable"), Failed, "HistoryUnreadable"),
        # Blocked: given up, or still trying.
        (WANTED, blocked("RunFailed", "failed 5 times. Next: kedge resume orders"), Failed, "RunFailed"),
        (WANTED, blocked("RunFailed", "failed once, again in 8 s"), Pending, ""),
        (WANTED, blocked("RunRefused", "drift. Next: kedge resume orders"), Failed, "RunRefused"),
        (WANTED, blocked("SettingRefused", "broker 1 refuses. Next: kedge resume orders"), Failed, "SettingRefused"),
        (WANTED, blocked("RestartReverted", "old settings. Next: kedge resume orders"), Failed, "RestartReverted"),
        (WANTED, blocked("ReplacementFailed", "3 in a row. Next: kedge resume orders"), Failed, "ReplacementFailed"),
        (WANTED, blocked("DrainNotConverging", "5 rounds. Next: kedge describe orders"), Failed, "DrainNotConverging"),
        (WANTED, blocked("BrokerDown", "broker 1002 is down"), Pending, ""),
        (WANTED, blocked("MinIsrGate", "t-0. Next: list the topic, then kedge apply"), Pending, ""),
        (WANTED, blocked("KafkaUnknown"), Pending, ""),
        # Gone, or somebody else.
        (WANTED, None, Failed, "Deleted"),
        (WANTED, detail(uid="u2"), Failed, "Deleted"),
        # Conditions.
        (ConditionIs("Blocked"), blocked("KafkaUnknown"), Done, ""),
        (ConditionIs("blocked"), blocked("KafkaUnknown"), Done, ""),
        (ConditionIs("Blocked"), rolling(), Pending, ""),
        (ConditionIs("Blocked", status=False), rolling(), Done, ""),
        (ConditionIs("Blocked", status=False), blocked("KafkaUnknown"), Pending, ""),
        (ConditionIs("Paused"), blocked("RunFailed", "x. Next: kedge resume orders"), Failed, "RunFailed"),
        (ConditionIs("Paused"), rolling(status="Unreadable"), Failed, "HistoryUnreadable"),
        (ConditionIs("Paused"), None, Failed, "Deleted"),
        # Deleted.
        (Deleted("u1"), None, Done, ""),
        (Deleted("u1"), detail(uid="u2"), Done, ""),
        (Deleted(), None, Done, ""),
        (Deleted("u1"), detail(status="Deleting"), Pending, ""),
        # A node's VM: gone, on its way, there, and there with nothing left to do.
        (REPLACED, detail(), Pending, ""),
        (REPLACED, rolling(instances=[instance("brokers-a-0.g1", lost=True)]), Pending, ""),
        (REPLACED, rolling(instances=[instance("brokers-a-0.g2", "launched")]), Pending, ""),
        (REPLACED, rolling(instances=[instance("brokers-a-0.g2")]), Pending, ""),
        (REPLACED, detail(instances=[instance("brokers-a-0.g1", "retiring"), instance("brokers-a-0.g2")]), Pending, ""),
        (REPLACED, detail(instances=[instance("brokers-a-0.g2")]), Done, ""),
        (REPLACED, detail(uid="u2", instances=[instance("brokers-a-0.g2")]), Failed, "Deleted"),
        (REPLACED, blocked("ReplacementFailed", "3 in a row. Next: kedge resume orders"), Failed, "ReplacementFailed"),
        (Deleted("u1"), blocked("RunFailed", "destroy. Next: kedge resume orders"), Failed, "RunFailed"),
    ],
)
def test_every_state_has_its_end(
    goal: Goal, seen: api.ClusterDetailOut | None, end: type[Done | Failed | Pending], reason: str
) -> None:
    outcome = judge(goal, "orders", seen)
    assert type(outcome) is end
    assert getattr(outcome, "reason", "") == reason


@pytest.mark.parametrize("seen", [rolling(status="Paused", paused="lunch"), blocked("RunFailed", "x. Next: kedge y")])
def test_a_failure_says_what_to_type_next(seen: api.ClusterDetailOut) -> None:
    outcome = judge(WANTED, "orders", seen)
    assert isinstance(outcome, Failed)
    assert outcome.next_command.startswith("kedge ")


def test_a_pending_goal_tells_the_sentence_of_the_last_tick() -> None:
    outcome = judge(WANTED, "orders", rolling())
    assert outcome == Pending("drain of brokers-a-0.g1: batch 2 of 5, 12 moves left")


def test_the_command_is_taken_out_of_the_message() -> None:
    said = condition("Blocked", True, "RunFailed", "Terraform failed 5 times. Next: kedge resume orders")
    assert next_command(said, "orders") == "kedge resume orders"
    assert message_of(said) == "Terraform failed 5 times"


@pytest.mark.parametrize(
    ("kind", "status", "command"),
    [("Paused", True, "kedge resume orders"), ("Blocked", True, "kedge events orders"), ("Converged", True, "")],
)
def test_a_condition_without_a_command_has_one_of_ours(kind: str, status: bool, command: str) -> None:
    assert next_command(condition(kind, status), "orders") == command
