"""The API, the overview of the portal and `kedge describe` explain a cluster with the same words."""

from html import unescape
from pathlib import Path

import pytest

from agent.wire import FindingReport
from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.schemas.clusters import ClusterDetailOut
from controlplane.cluster.condition_severity import is_note
from events import facts
from planner.observed import KafkaSnapshot
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.cli.cli_world import World
from tests.unit.controlplane.portal.test_portal_broker_page import report
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders
from tests.unit.docs.test_doc_conditions import condition_types

VIEWER = Binding("", Role.VIEWER, "*")
MESSAGE = "it's <not> as it should be"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Where `kedge` runs: its server answers what the house answered."""
    return World(tmp_path)


def test_a_condition_is_told_by_all_three_in_the_same_words_and_a_note_by_none(world: World) -> None:
    house = house_with_orders()
    browser = house.browser("ada", VIEWER)
    for kind in condition_types():
        if kind in ("Converged", "Synced"):
            continue
        house.record(facts.ConditionChanged(kind, True, "AsTested", MESSAGE))
        said = house.client.get("/v1/clusters/orders").json()["why"]
        assert _page(browser.get("/clusters/orders").text, said), kind
        assert _cli(world, house) == said, kind
        waits = kind.startswith("WaitsFor")  # told, as this cluster has not reached what it asks for
        assert said == (f"{kind}: {MESSAGE}" if waits or not is_note(kind, "AsTested") else ""), kind
        house.record(facts.ConditionChanged(kind, False, "AsTested", ""))


@pytest.mark.parametrize(
    ("snapshot", "words"),
    [
        (a_snapshot(a_partition("payments-0", isr=(1000,))), "1 partition is below its min ISR"),
        (a_snapshot(a_partition("payments-0", isr=(), leader=-1)), "1 partition has no leader"),
    ],
    ids=["below min ISR", "no leader"],
)
def test_what_metadata_says_is_told_by_all_three_whatever_stands(
    world: World, snapshot: KafkaSnapshot, words: str
) -> None:
    house = house_with_orders()
    house.snapshots[house.view().uid] = snapshot
    house.record(facts.ConditionChanged("SettingsAdopted", True, "Adopted", "somebody wanted it"))
    house.record(facts.ConditionChanged("CloudDrift", True, "Changed", "a security group"))
    said = house.client.get("/v1/clusters/orders").json()["why"]
    assert said.startswith(words)
    assert _page(house.browser("ada", VIEWER).get("/clusters/orders").text, said)
    assert _cli(world, house) == said


def test_what_agents_say_is_on_the_overview_too(world: World) -> None:
    house = house_with_orders()
    report(house, 1000, findings=(FindingReport(name="deadlock", since=house.now, message="2 threads"),))
    said = house.client.get("/v1/clusters/orders").json()["why"]
    assert said == "brokers-a-0.g1: deadlock: 2 threads"
    assert _page(house.browser("ada", VIEWER).get("/clusters/orders").text, said)
    assert _cli(world, house) == said


def _cli(world: World, house: House) -> str:
    detail = ClusterDetailOut.model_validate(house.client.get("/v1/clusters/orders").json())
    world.server.on("GET", "/clusters/orders", detail)
    lines = world.run("describe", "orders").stdout.splitlines()
    return "".join(line.split(None, 1)[1].strip() for line in lines if line.startswith("Why:"))


def _page(text: str, said: str) -> bool:
    now = unescape(text.partition('id="now"')[2].partition("</section>")[0])
    return f"</strong> {said}." in now if said else "<strong>Why:</strong>" not in now
