"""The cure of a finding: the gentlest that has not failed, within its caps, and in words."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings, strategies as st

from planner.healing import (
    BACK_OFF,
    LASTED,
    WITHIN,
    Ailment,
    Cure,
    HealingPolicy,
    HealingRefusal,
    PastCure,
    Prescription,
    prescribe,
)

NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)
POLICY = HealingPolicy()
STUCK = Ailment("brokers-a-0", "brokers-a-0.g1", "deadlock", NOW - timedelta(minutes=5), "2 threads wait")


def past(minutes_ago: float, cure: Cure = Cure.RESTART, node: str = STUCK.node, finding: str = "deadlock") -> PastCure:
    return PastCure(node, finding, cure, NOW - timedelta(minutes=minutes_ago))


def cure_of(*done: PastCure, ailment: Ailment = STUCK, policy: HealingPolicy = POLICY) -> Cure | HealingRefusal | None:
    chosen, refused = prescribe([ailment], done, policy, NOW)
    return chosen[0].cure if chosen else refused[0] if refused else None


def test_a_fresh_process_is_the_first_cure() -> None:
    chosen, refused = prescribe([STUCK], [], POLICY, NOW)
    assert chosen == (Prescription(STUCK, Cure.RESTART, "a fresh process is the gentlest cure"),)
    assert refused == ()


def test_what_came_back_after_its_restart_gets_a_new_vm() -> None:
    (chosen,), _ = prescribe([STUCK], [past(60)], POLICY, NOW)
    assert (chosen.cure, chosen.reason) == (Cure.REPLACE, "the restart 60 min ago did not last")


def test_a_restart_that_lasted_is_given_again() -> None:
    assert cure_of(past(LASTED.total_seconds() / 60 + 1)) is Cure.RESTART
    assert cure_of(past(60, finding="memory_leak")) is Cure.RESTART, "that was another ailment"
    assert cure_of(past(60, node="brokers-b-0")) is Cure.RESTART


@pytest.mark.parametrize("finding", ["log_dir_failed", "directory_lost:data"])
def test_a_failed_disk_gets_a_new_vm_at_once(finding: str) -> None:
    assert cure_of(ailment=replace(STUCK, finding=finding)) is Cure.REPLACE


@pytest.mark.parametrize("finding", ["registration_wrong", "wrong_identity", "zookeeper_session"])
def test_a_broker_that_is_another_for_the_others_is_started_anew_first_and_then_gets_a_new_vm(finding: str) -> None:
    unhealthy = replace(STUCK, finding=finding)
    assert cure_of(ailment=unhealthy) is Cure.RESTART
    assert cure_of(past(60, finding=finding), ailment=unhealthy) is Cure.REPLACE


@pytest.mark.parametrize("finding", ["crash_loop", "unreachable"])
def test_what_no_start_helps_gets_a_new_vm_at_once_and_one_alone_a_day(finding: str) -> None:
    unhealthy = replace(STUCK, finding=finding)
    assert cure_of(ailment=unhealthy) is Cure.REPLACE
    assert cure_of(ailment=unhealthy, policy=replace(POLICY, replace=False)).gave_up  # type: ignore[union-attr]
    again = cure_of(past(60, Cure.REPLACE, finding=finding), ailment=unhealthy)
    assert isinstance(again, HealingRefusal)
    assert again.gave_up


@pytest.mark.parametrize("finding", ["request_handlers_busy", "disk_full:data", "disk_filling:data", "of tomorrow"])
def test_what_no_machine_cures_is_left_to_people(finding: str) -> None:
    assert cure_of(ailment=replace(STUCK, finding=finding)) is None


def test_a_finding_that_has_just_begun_is_watched_first() -> None:
    young = replace(STUCK, since=NOW - POLICY.after + timedelta(seconds=1))
    assert cure_of(ailment=young) is None


def test_what_came_back_on_a_new_vm_is_given_up_and_told() -> None:
    told = cure_of(past(600), past(300, Cure.REPLACE))
    assert isinstance(told, HealingRefusal)
    assert told.gave_up
    assert told.reason == "it came back on a new VM: its cause is not the machine"


def test_a_cure_that_the_spec_does_not_allow_is_told() -> None:
    told = cure_of(policy=replace(POLICY, restart=False))
    assert isinstance(told, HealingRefusal)
    assert told.reason == "a fresh process is the gentlest cure, and the spec allows no restart without asking"
    told = cure_of(past(60), policy=replace(POLICY, replace=False))
    assert isinstance(told, HealingRefusal)
    assert told.gave_up


def test_a_cluster_gets_so_many_cures_a_day() -> None:
    done = [past(1400 - n, node=f"brokers-b-{n}") for n in range(4)]
    told = cure_of(*done)
    assert isinstance(told, HealingRefusal)
    assert not told.gave_up
    assert told.reason == "4 cures in a day are the most this cluster gets, the next at 12:40 UTC"
    assert told.until == NOW + timedelta(minutes=40)
    assert cure_of(*done[1:]) is Cure.RESTART


def test_a_node_rests_after_a_cure_and_ever_longer() -> None:
    told = cure_of(past(4, finding="memory_leak"))
    assert isinstance(told, HealingRefusal)
    assert told.reason == "brokers-a-0 had its restart at 11:56 UTC: the next cure at 12:06 UTC at the earliest"
    assert told.until == NOW + timedelta(minutes=6)
    assert cure_of(past(11, finding="memory_leak")) is Cure.RESTART
    twice = (past(200, finding="heap_full"), past(11, finding="memory_leak"))
    assert isinstance(cure_of(*twice), HealingRefusal)


def test_what_is_unhealthy_longest_is_tried_first() -> None:
    older = replace(STUCK, node="brokers-b-0", key="brokers-b-0.g1", since=NOW - timedelta(hours=1))
    chosen, refused = prescribe([STUCK, older], [], POLICY, NOW)
    assert [p.ailment for p in chosen] == [older, STUCK]
    assert refused == ()


ALIKE = frozenset({"brokers-a-0", "brokers-b-0", "brokers-c-0"})
FULL = [
    Ailment(node, f"{node}.g1", "heap_full", NOW - timedelta(minutes=5), "90 % in use") for node in sorted(ALIKE)[:2]
]
PEERS = {f"{node}.g1": ALIKE for node in ALIKE}


def test_what_half_of_the_peers_have_is_a_shared_cause_and_gets_no_new_vm() -> None:
    """Each would copy all data of a broker under memory pressure, and be as full."""
    again = past(60, node="brokers-a-0", finding="heap_full")
    wanted, refused = prescribe(FULL, [again], POLICY, NOW, PEERS)
    assert [(p.ailment.node, p.cure) for p in wanted] == [("brokers-b-0", Cure.RESTART)], "a restart is still tried"
    assert [(r.ailment.node, r.gave_up) for r in refused] == [("brokers-a-0", True)]
    assert refused[0].reason.startswith("the restart 60 min ago did not last, and 2 of 3 have it or were cured of it")
    cured = [again, past(50, node="brokers-b-0", finding="heap_full")]
    assert not prescribe(FULL[:1], cured, POLICY, NOW, PEERS)[0], "one that was cured of it counts"


def test_what_few_of_the_peers_have_is_their_own() -> None:
    again = past(60, node="brokers-a-0", finding="heap_full")
    (wanted,), _ = prescribe(FULL[:1], [again], POLICY, NOW, PEERS)
    assert wanted.cure is Cure.REPLACE
    long_ago = past(LASTED.total_seconds() / 60 + 1, node="brokers-b-0", finding="heap_full")
    assert prescribe(FULL[:1], [long_ago, again], POLICY, NOW, PEERS)[0]
    other = past(50, node="brokers-b-0", finding="deadlock")
    assert prescribe(FULL[:1], [again, other], POLICY, NOW, PEERS)[0], "that was another finding"
    many = {"brokers-a-0.g1": ALIKE | {"brokers-a-1", "brokers-b-1"}}
    assert prescribe(FULL[:1], [again, past(50, node="brokers-b-0", finding="heap_full")], POLICY, NOW, many)[0]


def test_failed_disks_of_many_are_each_their_own() -> None:
    failed = [replace(a, finding="log_dir_failed") for a in FULL]
    assert [p.cure for p in prescribe(failed, [], POLICY, NOW, PEERS)[0]] == [Cure.REPLACE, Cure.REPLACE]


_FINDINGS = st.sampled_from(["deadlock", "memory_leak", "log_dir_failed", "disk_full:data"])
_MINUTES = st.integers(0, 3000)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.sampled_from("abc"), _FINDINGS, st.sampled_from(list(Cure)), _MINUTES), max_size=12))
def test_a_sick_cluster_is_never_cured_to_death(done: list[tuple[str, str, Cure, int]]) -> None:
    """Followed for three days with every node unhealthy all the time."""
    history = sorted((past(m, c, f"brokers-{n}-0", f) for n, f, c, m in done), key=lambda c: c.at)
    unhealthy = [
        Ailment(f"brokers-{n}-0", f"brokers-{n}-0.g1", f, NOW - timedelta(hours=1), "")
        for n in "abc"
        for f in ("deadlock", "memory_leak")
    ]
    begun: list[datetime] = []
    now = NOW
    while now < NOW + timedelta(days=3):
        for chosen in prescribe(unhealthy, history, POLICY, now)[0][:1]:
            mine = [c.at for c in history if c.node == chosen.ailment.node]
            assert not mine or now - mine[-1] >= BACK_OFF
            history.append(PastCure(chosen.ailment.node, chosen.ailment.finding, chosen.cure, now))
            begun.append(now)
        now += timedelta(minutes=5)
    for at in begun:
        assert sum(at - WITHIN < other <= at for other in begun) <= POLICY.a_day
