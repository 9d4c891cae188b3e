"""The three questions before a finding is acted on: does it get better by itself, do its peers have it, would the act
cost more than it cures. Each is asked of every finding."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from agent.wire import DIRECTORY_LOST
from planner.breakdown import MISREGISTERED, BreakdownKind
from planner.cure_checks import LONG_S, START_S, START_S_PER_PARTITION, Evidence, Question, ServiceProgress, why_no_act
from planner.cure_table import CONTROLLER_STUCK, RESTART_FAILED, ROWS, TARGET_DEAD, ClientHarm, Sharing
from planner.healing import Ailment, Cure, HealingPolicy, HealingRefusal, PastCure, Prescription, may_replace, prescribe

NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)
NODE, OTHER, THIRD = "brokers-a-0", "brokers-b-0", "brokers-c-0"
PEERS = frozenset({NODE, OTHER, THIRD})
LAGS = Ailment(NODE, f"{NODE}.g1", "metadata_lag", NOW - timedelta(minutes=5), "its metadata is 80 s old")
STUCK = Evidence(
    progress={
        "metadata": ServiceProgress(120, 0, left=4000, closer=-60, position=500),
        "partitions": ServiceProgress(120, 0),
    },
    log_end=4500,
)
"""Its applied offset has not advanced for two minutes while the log grew."""
COMES_ON = {
    "metadata": ServiceProgress(120, 2400, left=4800, closer=2400, position=500),
    "partitions": ServiceProgress(120, 800),
    "recovery": ServiceProgress(60, 40, left=160, closer=40),
    "replicas": ServiceProgress(60, 5000, left=20_000, closer=5000),
    "heap": ServiceProgress(60, 5e7, left=1e8, closer=5e7),
    "collecting": ServiceProgress(60, 0.2, left=0.1, closer=0.2),
    "threads": ServiceProgress(60, 100, left=200, closer=100),
    "descriptors": ServiceProgress(60, 100, left=200, closer=100),
    "uncleanable": ServiceProgress(60, 2, left=1, closer=2),
}
"""By progress, a service that comes on."""

RECOVER = sorted((finding, name) for finding, row in ROWS.items() for name in row.recovers)


def behind(evidence: Evidence) -> Evidence:
    """With metadata still to be applied, as far as nothing else is said of it."""
    lags = ServiceProgress(120, 0, left=4000, closer=-60, position=500)
    return replace(evidence, progress={"metadata": lags, **evidence.progress})


def asked(
    finding: str, evidence: Evidence = STUCK, *, is_restart: bool = True, have: frozenset[str] = frozenset({NODE})
) -> Question | None:
    found = why_no_act(finding, is_restart, NODE, have, PEERS, evidence)
    return found.question if found is not None else None


def test_every_finding_that_leads_to_a_cure_has_a_row() -> None:
    """Those of agents that only tell (disks that fill, busy threads, a slow ensemble) lead to none."""
    by_agents = {
        "deadlock",
        "heap_full",
        "memory_leak",
        "gc_thrashing",
        "threads_exhausted",
        "descriptors_exhausted",
        "log_cleaner_dead",
        "log_cleaner_gave_up",
        "metadata_lag",
        "metadata_errors",
        "wrong_identity",
        "zookeeper_session",
        "log_dir_failed",
        CONTROLLER_STUCK,
        DIRECTORY_LOST,
    }
    assert ROWS.keys() == by_agents | {MISREGISTERED, TARGET_DEAD, RESTART_FAILED, *(m.value for m in BreakdownKind)}
    for finding, row in ROWS.items():
        assert row.by_itself, finding
        assert row.peers, finding
        assert row.cost, finding


@pytest.mark.parametrize("finding", sorted(ROWS))
def test_what_does_not_get_better_is_one_brokers_own_and_costs_no_more_than_it_cures_is_acted_on(finding: str) -> None:
    assert asked(finding) is None
    assert asked(finding, is_restart=False) is None


@pytest.mark.parametrize(("finding", "name"), RECOVER)
def test_what_gets_better_by_itself_is_left_alone(finding: str, name: str) -> None:
    evidence = behind(Evidence(progress={name: COMES_ON[name]}))
    for is_restart in (True, False):
        found = why_no_act(finding, is_restart, NODE, {NODE}, PEERS, evidence)
        assert found is not None
        assert found.question is Question.RECOVERING
        assert found.words.endswith(": it gets better by itself")


@pytest.mark.parametrize(("finding", "name"), RECOVER)
def test_what_stands_still_is_not_left_alone(finding: str, name: str) -> None:
    still = ServiceProgress(120, 0, left=COMES_ON[name].left, closer=0)
    assert asked(finding, replace(STUCK, progress={**STUCK.progress, name: replace(still, position=500)})) is None


@pytest.mark.parametrize("finding", sorted(f for f, row in ROWS.items() if not row.recovers))
def test_what_never_gets_better_by_itself_is_acted_on_whatever_else_comes_on(finding: str) -> None:
    assert asked(finding, Evidence(progress=COMES_ON)) is None


@pytest.mark.parametrize("finding", sorted(ROWS))
def test_what_its_peers_have_too_is_acted_on_only_where_a_fresh_process_cures_each(finding: str) -> None:
    shared = ROWS[finding].sharing is Sharing.NO_ACT
    for have in ({NODE, OTHER}, {NODE, OTHER, THIRD}):
        found = why_no_act(finding, True, NODE, have, PEERS, STUCK)
        assert (found is not None) == shared
        if found is not None:
            assert found.question is Question.SHARED
            assert found.words == f"{len(have) - 1} of 2 peers have it too: the cause is not this broker"


@pytest.mark.parametrize("finding", sorted(f for f, row in ROWS.items() if row.sharing is Sharing.NO_ACT))
def test_peers_that_are_not_heard_may_have_it_too(finding: str) -> None:
    found = why_no_act(finding, True, NODE, {NODE}, PEERS, replace(STUCK, unheard=frozenset({OTHER})))
    assert found is not None
    assert found.question is Question.NOT_KNOWN
    assert found.words == f"whether its peers have it too is not known: {OTHER} not heard"
    many = PEERS | {f"brokers-{rack}-1" for rack in "abc"}
    assert why_no_act(finding, True, NODE, {NODE}, many, replace(STUCK, unheard=frozenset({OTHER}))) is None


@pytest.mark.parametrize("finding", sorted(ROWS))
def test_a_restart_that_costs_more_than_it_cures_is_left_where_the_broker_serves(finding: str) -> None:
    many = round((LONG_S - START_S) / START_S_PER_PARTITION) + 1
    costly = replace(STUCK, hosted=many, thinned=many)
    found = why_no_act(finding, True, NODE, {NODE}, PEERS, costly)
    assert (found is not None) == (ROWS[finding].harm is ClientHarm.DEGRADED)
    if found is not None:
        assert found.question is Question.COSTLY
        assert "would be at their min ISR: that costs more than it cures" in found.words
    assert asked(finding, replace(costly, hosted=many - 2)) is None, "it is back before anybody would be told"
    assert asked(finding, replace(costly, thinned=0)) is None, "nothing is at its min ISR without it"
    assert asked(finding, costly, is_restart=False) is None, "its successor is filled before it goes"


def test_a_broker_that_applies_4000_partitions_on_a_busy_machine_is_not_restarted() -> None:
    """As it was seen: the lag of two brokers was minutes, one was restarted, and every partition lacked a replica."""
    at_once = Evidence(
        progress={
            "metadata": ServiceProgress(45, 0, left=8000, closer=0, position=500),
            "partitions": ServiceProgress(45, 900),
        }
    )
    (refused,) = prescribe([LAGS], [], HealingPolicy(), NOW, {LAGS.whose: PEERS}, {LAGS.whose: at_once})[1]
    assert refused.question is Question.RECOVERING
    assert refused.reason == (
        "it opens or closes 1,200 partitions a minute, or changes what it leads: it gets better by itself"
    )
    slowly = Evidence(progress={"metadata": COMES_ON["metadata"]})
    (refused,) = prescribe([LAGS], [], HealingPolicy(), NOW, {LAGS.whose: PEERS}, {LAGS.whose: slowly})[1]
    assert refused.reason == ("it advances 1,200 metadata offsets a minute, about 4 min left: it gets better by itself")
    assert not refused.gave_up


def test_lag_of_metadata_of_which_an_older_agent_tells_no_progress_is_no_standstill() -> None:
    for evidence in ({}, {LAGS.whose: Evidence(log_end=5000)}):
        begun, (refused,) = prescribe([LAGS], [], HealingPolicy(), NOW, {LAGS.whose: PEERS}, evidence)
        assert not begun
        assert refused.question is Question.NOT_KNOWN


def test_a_broker_that_applies_nothing_while_the_log_grows_is_restarted() -> None:
    (begun,), _ = prescribe([LAGS], [], HealingPolicy(), NOW, {LAGS.whose: PEERS}, {LAGS.whose: STUCK})
    assert begun == Prescription(LAGS, Cure.RESTART, "a fresh process is the gentlest cure")


def test_one_whose_own_log_stands_still_is_held_against_that_of_others() -> None:
    """Its fetcher died: by its own log it has applied everything."""
    still = ServiceProgress(120, 0, left=0, closer=0, position=500)
    own = Evidence(progress={"metadata": still, "partitions": ServiceProgress(120, 0)})
    assert asked("metadata_lag", own) is Question.SHARED, "the controllers write nothing, as far as anybody knows"
    assert asked("metadata_lag", replace(own, log_end=500)) is Question.SHARED
    assert asked("metadata_lag", replace(own, log_end=900)) is None


def test_a_number_that_falls_by_chance_is_no_recovery() -> None:
    slowly = Evidence(progress={"threads": ServiceProgress(120, 1, left=400, closer=1)})
    assert asked("threads_exhausted", slowly) is None


def test_a_broker_that_is_let_in_by_nobody_is_started_anew_though_it_follows_all_metadata() -> None:
    """One that follows advances by what the controllers write, for ever."""
    follows = Evidence(progress={"metadata": ServiceProgress(120, 240, left=0, closer=0, position=500)}, log_end=501)
    assert asked(MISREGISTERED, follows) is None
    assert asked(RESTART_FAILED, follows, is_restart=False) is None


def test_a_new_vm_for_who_does_not_serve_is_asked_the_same() -> None:
    opens = Evidence(progress={"recovery": COMES_ON["recovery"]})
    dead = replace(LAGS, finding=RESTART_FAILED)
    left = may_replace(dead, [], HealingPolicy(), NOW, evidence=opens, peers=PEERS)
    assert isinstance(left, HealingRefusal)
    assert left.reason == "it opens 40 logs a minute, about 4 min left: it gets better by itself"
    shared = may_replace(dead, [], HealingPolicy(), NOW, have=frozenset({NODE, OTHER}), peers=PEERS)
    assert isinstance(shared, HealingRefusal)
    assert shared.question is Question.SHARED
    assert isinstance(may_replace(dead, [], HealingPolicy(), NOW, have=frozenset({NODE}), peers=PEERS), Prescription)


def test_that_it_rests_after_a_cure_is_not_told_where_there_is_a_better_reason() -> None:
    done = [PastCure(NODE, "metadata_lag", Cure.RESTART, NOW - timedelta(minutes=4))]
    advancing = {LAGS.whose: Evidence(progress=COMES_ON)}
    (refused,) = prescribe([LAGS], done, HealingPolicy(), NOW, {LAGS.whose: PEERS}, advancing)[1]
    assert refused.question is Question.RECOVERING
