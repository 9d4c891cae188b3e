"""The form for new things, where the team's binding is git with a forge: a pull request in one's own name."""

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from tests.unit.controlplane.api.test_rollback import Scene, _hidden
from tests.unit.controlplane.background.git_sync.git_house import GitHouse, binding
from tests.unit.events.spec_texts import ORDERS

OURS = ORDERS.replace("name: orders", "name: orders\n  owner: payments")
FIELDS = {
    "kind": "cluster",
    "tier": "standard",
    "name": "clicks",
    "owner": "payments",
    "version": "4.1.1",
    "cloud": "local",
    "region": "local-1",
    "zones": "a b c",
    "machine": "small",
    "controllers": "3",
    "brokers": "3",
    "disk": "20",
}
OWNER = Binding("", Role.OWNER, "team:payments")


@pytest.fixture
def scene() -> Scene:
    scene = Scene(GitHouse(binding=binding(path="kafka", team="payments")))
    scene.push({"kafka/orders.yaml": OURS})
    return scene


def sent(
    scene: Scene, fields: dict[str, str], *, who: Binding = OWNER, name: str = "ada", source: str = "teams"
) -> str:
    """Looks at the spec, then presses the button; the page that answers."""
    browser = scene.git.house.browser(name, who)
    shown = browser.post("/new", data=fields).text
    more = {"do": "request", "binding": source, "digest": _hidden(shown, "digest"), "key": _hidden(shown, "key")}
    return browser.post("/new", data=fields | more).text


def test_a_new_cluster_becomes_a_file_in_the_teams_folder_and_nothing_is_declared(scene: Scene) -> None:
    page = sent(scene, FIELDS)
    assert "https://forge.example.org/platform/specs/pull/1" in page
    files = scene.requested()
    assert sorted(files) == ["kafka/clicks.yaml", "kafka/orders.yaml"]
    world = scene.forge.world
    commit = world.commits[world.branches[world.requests[0]["head"]]]
    assert (commit.author, commit.message.splitlines()[0]) == (("ada", "ada@example.org"), "Add clicks")
    assert [v.name for v in scene.git.house.converger.views()] == ["orders"]
    scene.push(files)
    assert (scene.git.status.state, scene.git.view("clicks").declaration.source is not None) == ("Synced", True)


def test_a_topic_goes_to_the_source_of_its_clusters_team(scene: Scene) -> None:
    topic = {"kind": "topic", "tier": "standard", "name": "views", "owner": "payments", "cluster": "orders"}
    page = sent(scene, topic | {"partitions": "3", "retention": "24"})
    assert "A pull request is open" in page
    files = scene.requested()
    assert "kafka/orders-views.yaml" in files
    scene.push(files)
    assert scene.git.status.state == "Synced"
    assert "views" in scene.git.view().topics.by_name


def test_it_is_offered_for_ones_team_alone(scene: Scene) -> None:
    browser = scene.git.house.browser("ada", Binding("", Role.OWNER, "*"))
    assert "Open a pull request" in browser.post("/new", data=FIELDS).text
    assert "Open a pull request" not in browser.post("/new", data=FIELDS | {"owner": "search"}).text
    page = sent(scene, FIELDS | {"owner": "search"}, who=Binding("", Role.OWNER, "*"), name="bob")
    assert "no pull request of this can be opened" in page
    assert scene.forge.world.requests == []


def test_a_file_that_is_there_is_not_overwritten(scene: Scene) -> None:
    scene.push({"kafka/orders.yaml": OURS, "kafka/clicks.yaml": "# somebody else is at it\n"})
    assert "kafka/clicks.yaml is there already" in sent(scene, FIELDS)
    assert scene.forge.world.requests == []


def test_who_may_not_declare_for_the_team_opens_nothing(scene: Scene) -> None:
    page = sent(scene, FIELDS, who=Binding("", Role.VIEWER, "team:payments"), name="eve")
    assert "you may not declare" in page
    assert scene.forge.world.requests == []


def test_a_binding_that_may_not_use_the_account_is_not_offered() -> None:
    scene = Scene(GitHouse(binding=binding(path="kafka", team="payments", accounts=("aws/payments",))))
    browser = scene.git.house.browser("ada", OWNER)
    assert "Open a pull request" not in browser.post("/new", data=FIELDS).text


def test_without_a_forge_nothing_is_offered() -> None:
    scene = Scene(GitHouse(binding=binding(path="kafka", team="payments")), has_forge=False)
    browser = scene.git.house.browser("ada", OWNER)
    shown = browser.post("/new", data=FIELDS).text
    assert "Download" in shown
    assert "Open a pull request" not in shown
