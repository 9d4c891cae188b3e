"""Volumes as a third resource: in the bounds, the plan, the replay and on the certificate."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from planner.drain.bounds import bounds_of
from planner.drain.bounds.limits import (
    LONGEST_LOG,
    NETWORK_IN,
    NETWORK_OUT,
    VOLUMES,
    VOLUMES_READ,
    VOLUMES_WRITE,
)
from planner.drain.certified import CertifiedPlan, certified
from planner.drain.judge import judge
from planner.drain.model.hardware import unknown_hardware
from planner.drain.model.state import ClusterState
from planner.drain.model.volumes import Volumes
from planner.drain.replay import PlanRule, replay
from planner.drain.solver.volumes import within_volumes, writing_share
from tests.unit.planner.drain.judge_cases import ACTIVE, NEW, OUTGOING, cluster, plan

NOBODY_KNOWS = float("nan")


def with_volumes(
    state: ClusterState,
    io: list[float] | float = NOBODY_KNOWS,
    *,
    write: list[float] | float = NOBODY_KNOWS,
    read: list[float] | float = NOBODY_KNOWS,
) -> ClusterState:
    count = len(state.brokers)
    known = replace(
        unknown_hardware(count),
        disk_io_bytes_per_s=np.broadcast_to(np.asarray(io, dtype=float), count).copy(),
        disk_write_bytes_per_s=np.broadcast_to(np.asarray(write, dtype=float), count).copy(),
        disk_read_bytes_per_s=np.broadcast_to(np.asarray(read, dtype=float), count).copy(),
    )
    return replace(state, hardware=known)


def successor(**more: object) -> ClusterState:
    """Broker 0 goes, broker 1 takes all that was on it: 30 logs of 100 bytes."""
    more = {"ingress": 100.0, "egress": 100.0, "flow": 50.0, "disk": 10**6, **more}
    lists = [[0, 2]] * 30
    state = cluster("aab", [OUTGOING, NEW, ACTIVE], lists, **more)  # type: ignore[arg-type]
    return replace(state, destinations={0: (1,)})


def spread(brokers: int = 6, count: int = 60, **more: object) -> ClusterState:
    """Broker 0 goes and the others, all in one rack, take what was on it and may be read."""
    more = {"ingress": 100.0, "egress": 100.0, "flow": 20.0, "disk": 10**6, **more}
    lists = [[0, 1 + n % (brokers - 1)] for n in range(count)]
    return cluster("a" * brokers, [OUTGOING, *[ACTIVE] * (brokers - 1)], lists, **more)  # type: ignore[arg-type]


def planned(state: ClusterState) -> CertifiedPlan:
    answer = certified(state)
    assert isinstance(answer, CertifiedPlan)
    return answer


def test_without_a_limit_that_is_known_everything_is_as_it_was() -> None:
    state = spread()
    assert within_volumes(state) is state
    assert within_volumes(with_volumes(state)).volumes is None
    assert planned(with_volumes(state)).measures == planned(state).measures


@pytest.mark.parametrize("figure", ["io", "write"])
def test_a_target_takes_no_more_than_its_volumes_write(figure: str) -> None:
    """30 x 100 bytes at 40 bytes/s instead of the network's 100."""
    state = successor()
    slow = with_volumes(state, 40.0) if figure == "io" else with_volumes(state, write=40.0)
    assert bounds_of(within_volumes(state)).makespan_s == 30.0
    assert bounds_of(within_volumes(slow)).makespan_s == 75.0
    found = planned(slow)
    assert found.measures.makespan_s.value == pytest.approx(75.0, rel=0.05)
    assert found.verdict.binds == VOLUMES_WRITE
    assert planned(state).verdict.binds == NETWORK_IN


def test_a_source_gives_no_more_than_its_volumes_read() -> None:
    state = successor(ingress=[100.0, 1000.0, 100.0])
    assert planned(state).verdict.binds == NETWORK_OUT
    slow = planned(with_volumes(state, read=[10.0, NOBODY_KNOWS, 10.0]))
    assert slow.measures.makespan_s.bound == 150.0
    assert slow.measures.makespan_s.value == pytest.approx(150.0, rel=0.05)
    assert slow.verdict.binds == VOLUMES_READ


def test_who_takes_and_gives_at_once_shares_its_volumes() -> None:
    """6000 bytes are read once and written once by six brokers that do 30 bytes/s each."""
    found = planned(with_volumes(spread(), 30.0))
    assert found.measures.makespan_s.bound == pytest.approx(2 * 6000 / (6 * 30))
    assert found.measures.makespan_s.ratio <= 1.15
    assert found.verdict.binds == VOLUMES
    assert found.verdict.replay.violations == ()
    assert found.state.volumes is not None
    both = found.state.brokers.ingress_bytes_per_s + found.state.brokers.egress_bytes_per_s
    staying = found.state.brokers.may_receive
    assert (both[staying] <= found.state.volumes.io[staying] * (1 + 1e-9)).all()


def test_a_rack_that_has_to_take_writes_with_its_volumes_and_others_read() -> None:
    """Racks are as many as replicas: what leaves broker 0 stays in its rack, and those of the others are read."""
    lists = [[0, 2 + n % 2, 4 + n % 2] for n in range(60)]
    state = cluster("aabbcc", [OUTGOING, *[ACTIVE] * 5], lists, ingress=100.0, egress=100.0, flow=20.0, disk=10**6)
    share = writing_share(within_volumes(with_volumes(state, 30.0), np.full(6, 0.5)))
    assert share[0] == 0.0
    assert share[1] == 1.0, "it holds nothing that is read"
    assert (share[2:] <= 0.03).all()
    found = planned(with_volumes(state, 30.0))
    assert found.measures.makespan_s.bound == pytest.approx(200.0)
    assert found.measures.makespan_s.ratio <= 1.05
    assert found.verdict.binds == VOLUMES_WRITE


def test_one_long_log_is_bound_by_its_fetch_not_by_volumes() -> None:
    state = successor(size=[100] * 29 + [10**5])
    assert planned(with_volumes(state, 1000.0)).verdict.binds == LONGEST_LOG


def test_a_broker_of_which_nobody_knows_the_volumes_is_bound_by_its_network_alone() -> None:
    state = with_volumes(spread(), [30.0, NOBODY_KNOWS, 30.0, NOBODY_KNOWS, 30.0, 30.0])
    found = within_volumes(state)
    assert found.volumes is not None
    assert found.brokers.ingress_bytes_per_s[[1, 3]].tolist() == [100.0, 100.0]
    assert np.isinf(found.volumes.io[[1, 3]]).all()
    assert planned(state).verdict.replay.violations == ()


def test_the_replay_refuses_a_plan_that_asks_too_much_of_volumes() -> None:
    """Broker 1 takes 10 bytes/s and gives 10 while its volumes do 15."""
    state = cluster("aaa", [OUTGOING, ACTIVE, ACTIVE], [[0, 2], [0, 1]], ingress=10.0, egress=10.0)
    wide = np.full(3, np.inf)
    network = {"network_in": state.brokers.ingress_bytes_per_s, "network_out": state.brokers.egress_bytes_per_s}
    schedule = plan(state, [(0, [1, 2], 2), (1, [2, 1], 1)])
    assert replay(state, schedule).violations == ()
    bound = replace(state, volumes=Volumes(write=wide, read=wide, io=np.array([15.0, 15.0, 30.0]), **network))
    (broken,) = replay(bound, schedule).violations
    assert broken.rule is PlanRule.BANDWIDTH
    assert str(broken.subject) == "broker 1002"
    assert broken.detail == "writes and reads 1.3333 times what migration may use"
    enough = replace(state, volumes=Volumes(write=wide, read=wide, io=np.array([15.0, 20.0, 30.0]), **network))
    assert replay(enough, schedule).violations == ()


def test_a_volume_that_is_slower_never_makes_a_shorter_bound() -> None:
    times = [bounds_of(within_volumes(with_volumes(spread(), io))).makespan_s for io in (400.0, 60.0, 30.0, 10.0)]
    assert times == sorted(times)


def test_nothing_to_drain_shares_volumes_in_halves() -> None:
    state = cluster("aaa", [ACTIVE] * 3, [[0, 1], [1, 2]], ingress=100.0, egress=100.0)
    found = within_volumes(with_volumes(state, 50.0))
    assert found.brokers.ingress_bytes_per_s.tolist() == [25.0] * 3
    assert found.brokers.egress_bytes_per_s.tolist() == [25.0] * 3


@st.composite
def drains(draw: st.DrawFn) -> ClusterState:
    """One to two of six brokers leave; of each broker the volumes are known or not."""
    count = draw(st.integers(4, 30))
    pairs = st.lists(st.integers(0, 5), min_size=2, max_size=2, unique=True)
    lists = draw(st.lists(pairs, min_size=count, max_size=count))
    leaving = draw(st.sampled_from([1, 2]))
    states = [OUTGOING] * leaving + [ACTIVE] * (6 - leaving)
    state = cluster(
        "aaaaaa", states, lists, size=draw(st.lists(st.integers(1, 500), min_size=count, max_size=count)),
        ingress=draw(st.floats(20, 200)), egress=draw(st.floats(20, 200)), flow=40.0, disk=10**7,
    )  # fmt: skip
    limit = st.one_of(st.just(NOBODY_KNOWS), st.floats(5, 300))
    return with_volumes(state, draw(st.lists(limit, min_size=6, max_size=6)))


@given(drains())
@settings(max_examples=60, deadline=None)
def test_no_plan_passes_what_volumes_do_nor_beats_its_bound(state: ClusterState) -> None:
    answer = certified(state)
    assert isinstance(answer, CertifiedPlan)
    assert answer.verdict.replay.violations == ()
    assert answer.measures.makespan_s.value >= answer.measures.makespan_s.bound * (1 - 1e-6)
    again = judge(answer.state, answer.schedule)
    assert again.measures == answer.measures
