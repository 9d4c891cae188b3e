"""The leader as a process sees it that answers agents beside it: its epoch, for as long as anything is known of it."""

from datetime import UTC, datetime, timedelta

import pytest

from controlplane.cluster.observed.agent_telemetry import AgentTelemetry, keep_telemetry
from controlplane.runtime.process_errors import Troubles
from controlplane.server.split.followed_leader import FOLLOWED_FOR_S, FollowedLeader, LogFollower
from controlplane.storage.lease_holder import CONVERGE
from tests.fakes.latest_values import MemoryLatestStore
from tests.fakes.leases import MemoryLeaseStore

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SENT = AgentTelemetry(metrics=True, metrics_cluster="telemetry", logs=True)


class World:
    """A leader's side in memory, and a clock for both."""

    def __init__(self) -> None:
        self.now = START
        self.leases = MemoryLeaseStore(longest_call_s=5, clock=lambda: self.now)
        self.latest = MemoryLatestStore()
        self.leader = FollowedLeader(self.leases, self.latest, monotonic_s=self.seconds)
        self.looks = 0

    def seconds(self) -> float:
        return (self.now - START).total_seconds()

    def pass_(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def leads(self, owner: str = "alpha") -> None:
        assert self.leases.acquire(CONVERGE, owner, term_s=30) is not None

    def tells(self) -> None:
        keep_telemetry(self.latest, SENT, self.now)

    def catch_up(self) -> None:
        self.looks += 1


@pytest.fixture
def world() -> World:
    return World()


def test_an_agent_hears_documents_under_the_epoch_of_who_leads(world: World) -> None:
    world.leads()
    world.tells()
    world.leader.look()
    assert (world.leader.held_epoch(), world.leader.may_act, world.leader.why_not()) == (1, False, "")
    assert world.leader.telemetry() == SENT


def test_while_nobody_leads_no_document_is_told(world: World) -> None:
    world.tells()
    world.leader.look()
    assert (world.leader.held_epoch(), world.leader.why_not()) == (None, "no server leads")
    world.leads()
    world.leader.look()
    assert world.leader.held_epoch() == 1
    world.pass_(31)
    world.leader.look()
    assert world.leader.held_epoch() is None, "its lease is over"
    world.leads("beta")
    world.leader.look()
    assert world.leader.held_epoch() == 2


def test_what_was_read_long_ago_says_nothing_any_more(world: World) -> None:
    assert "was not read" in world.leader.why_not()
    world.leads()
    world.tells()
    world.leader.look()
    world.pass_(FOLLOWED_FOR_S)
    assert world.leader.held_epoch() == 1
    world.pass_(1)
    assert world.leader.held_epoch() is None
    assert "was not read for 10 s" in world.leader.why_not()


def test_without_a_word_of_what_agents_send_no_document_is_told(world: World) -> None:
    """Made by this machine's settings it could be another one than the next process tells."""
    world.leads()
    world.leader.look()
    assert world.leader.held_epoch() is None
    assert "has not told what agents send" in world.leader.why_not()


def test_the_log_is_read_whenever_it_rings_and_the_lease_once_a_second(world: World) -> None:
    follower = LogFollower(world, world.leader, troubles=Troubles(), monotonic_s=world.seconds)
    world.tells()
    follower.follow()
    world.leads()
    follower.follow()
    assert (world.looks, world.leader.held_epoch()) == (2, None)
    world.pass_(1)
    follower.follow()
    assert (world.looks, world.leader.held_epoch()) == (3, 1)
