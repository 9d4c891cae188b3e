"""The stories of agents that are upgraded: one first, early stages before late ones, stopped by a failure."""

from collections.abc import Callable

import pytest

from planner.rollout.windows import Freeze
from tests.sequences.recorded import recorded_as
from tests.sim.agent_fleet import AgentFleet, at


def agents_upgrade_staging_first() -> AgentFleet:
    """One VM soaks, then staging one by one, a soak, then production in two clusters at a time."""
    fleet = AgentFleet(stage="staging", shop="production", ledger="production", bank="production")
    fleet.agents[("shop", "brokers-a-0.g1")].is_able = False
    fleet.publish("0.2.0")
    fleet.until("0.2.0")
    upgraded = [line for line in fleet.story if "upgrade_requested" in line]
    assert len(upgraded) == 23
    assert all(line.startswith("stage") for line in upgraded[:6])
    told = {vm.state for c in fleet.service.status().clusters for vm in c.vms}
    assert told == {"current", "unable"}
    fleet.step(30)
    return fleet


def bad_agent_stops_at_the_first_vm() -> AgentFleet:
    """It ends at once: its VM is back with the old one by itself, and says so. The next version goes everywhere."""
    fleet = AgentFleet(stage="staging", shop="production")
    fleet.publish("0.2.0")
    fleet.until("0.2.0")
    for agent in fleet.agents.values():
        agent.fails["0.3.0"] = "agent 0.3.0 ended 3 times before it had reported: ImportError; back to agent 0.2.0"
    fleet.publish("0.3.0")
    fleet.step(60)
    told = fleet.condition("stage")
    assert told is not None
    assert told.status
    assert "ImportError; back to agent 0.2.0. No other VM is asked" in told.message
    assert fleet.condition("shop") is None or not fleet.condition("shop").status  # type: ignore[union-attr]
    assert {*fleet.versions("stage"), *fleet.versions("shop")} == {"0.2.0"}
    fleet.withdraw("0.3.0", "it does not start")
    fleet.publish("0.3.1")
    fleet.until("0.3.1")
    told = fleet.condition("stage")
    assert told is None or not told.status
    return fleet


def failure_is_forgiven_and_tried_again() -> AgentFleet:
    """The mirror was away: a person says go on, and the same VM is asked again with another order."""
    fleet = AgentFleet(shop="production")
    broken = fleet.agents[("shop", "brokers-a-0.g1")]
    broken.fails["0.2.0"] = "https://mirror.example/0.2.0 could not be fetched: ConnectError; back to agent 0.1.0"
    fleet.publish("0.2.0")
    fleet.step(40)
    assert set(fleet.versions("shop")) == {"0.1.0"}
    broken.fails.clear()
    fleet.resume("the mirror is back")
    fleet.until("0.2.0")
    return fleet


def kafka_that_did_not_run_on_stops_the_rest() -> AgentFleet:
    """The new agent reports well, but the broker's process is another one than before."""
    fleet = AgentFleet(shop="production")
    fleet.agents[("shop", "brokers-a-0.g1")].restarts_kafka = True
    fleet.publish("0.2.0")
    fleet.step(40)
    told = fleet.condition("shop")
    assert told is not None
    assert "its services did not run on: broker was process 4711 and is 4712" in told.message
    assert fleet.versions("shop").count("0.2.0") == 1
    return fleet


def withdrawn_agent_gives_way_to_the_one_before() -> AgentFleet:
    """Half a fleet is on it when it is withdrawn: those go back to the version published before."""
    fleet = AgentFleet(soak_s=10, stage="staging", shop="production")
    fleet.publish("0.2.0")
    fleet.until("0.2.0")
    fleet.publish("0.3.0")
    while fleet.versions("shop").count("0.3.0") < 2:
        fleet.step()
    fleet.withdraw("0.3.0", "it forgets disks")
    fleet.until("0.2.0")
    return fleet


def agents_wait_for_a_freeze() -> AgentFleet:
    """Nobody is asked while a freeze lasts; what is in hand is seen through."""
    fleet = AgentFleet(shop="production")
    fleet.publish("0.2.0")
    fleet.step(2)
    fleet.freeze(Freeze(at(0), at(600), "winter sale"))
    fleet.step(60)
    assert fleet.versions("shop").count("0.2.0") == 1
    fleet.until("0.2.0")
    return fleet


STORIES = (
    agents_upgrade_staging_first,
    bad_agent_stops_at_the_first_vm,
    failure_is_forgiven_and_tried_again,
    kafka_that_did_not_run_on_stops_the_rest,
    withdrawn_agent_gives_way_to_the_one_before,
    agents_wait_for_a_freeze,
)


@pytest.mark.parametrize("told", STORIES, ids=lambda s: s.__name__)
def test_the_story_is_told_as_recorded(told: Callable[[], AgentFleet]) -> None:
    recorded_as(told.__name__, told().story)
