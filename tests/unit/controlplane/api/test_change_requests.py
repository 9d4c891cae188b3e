"""The form for changes, of what a git source with a forge declares: a pull request in one's own name."""

import html
from collections.abc import Mapping

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.background.forges.forge import ForgeFault
from tests.unit.controlplane.api.test_change_form import BROKERS, CHANGE, CLICKS, fields_in
from tests.unit.controlplane.api.test_new_requests import OURS, OWNER
from tests.unit.controlplane.api.test_proposals import TOPIC
from tests.unit.controlplane.api.test_rollback import Scene
from tests.unit.controlplane.background.git_sync.git_house import GitHouse, binding, named

FILE = "kafka/all.yaml"
ADS = "# theirs\n" + named("ads", OURS)
BUTTON = "Open a pull request"


def scene_of(*verbs: str) -> Scene:
    scene = Scene(GitHouse(binding=binding(path="kafka", team="payments", verbs=verbs or ("create", "change"))))
    scene.push({FILE: f"{OURS}---\n{ADS}---\n{TOPIC.strip().removeprefix('---').strip()}\n"})
    return scene


@pytest.fixture
def scene() -> Scene:
    return scene_of()


def looked_at(scene: Scene, path: str, changes: Mapping[str, str], *, who: Binding = OWNER, name: str = "ada") -> str:
    browser = scene.git.house.browser(name, who)
    return str(browser.post(path, data={**fields_in(browser.get(path).text), **changes}).text)


def sent(scene: Scene, path: str, changes: Mapping[str, str]) -> tuple[int, str]:
    """Opened, filled in, looked at, asked for: the answer to the last step."""
    shown = looked_at(scene, path, changes)
    answer = scene.git.house.browser("ada", OWNER).post(path, data={**fields_in(shown), "do": "request"})
    return answer.status_code, html.unescape(answer.text)


def test_a_change_of_a_cluster_becomes_a_pull_request_of_its_file_and_nothing_is_declared(scene: Scene) -> None:
    before = scene.git.house.store.head()
    assert BUTTON in looked_at(scene, CHANGE, {BROKERS: "4"})
    status, page = sent(scene, CHANGE, {BROKERS: "4"})
    assert status == 200
    assert "https://forge.example.org/platform/specs/pull/1" in page
    assert BUTTON not in page
    world = scene.forge.world
    commit = world.commits[world.branches[world.requests[0]["head"]]]
    assert commit.author == ("ada", "ada@example.org")
    assert commit.message.startswith("Change orders\n\nKedge opens this for `ada`.")
    assert "size: 3 -> 4" in commit.message
    assert scene.git.house.store.head() == before
    (text,) = scene.requested().values()
    assert ADS in text, "what others declare in the file stays to the byte"
    scene.push(scene.requested())
    document = scene.git.view().document
    assert scene.git.status.state == "Synced"
    assert document is not None
    assert document.spec.pools[1].size == 4
    assert "clicks" in scene.git.view().topics.by_name


def test_so_does_a_change_of_a_topic(scene: Scene) -> None:
    status, page = sent(scene, CLICKS, {"spec.partitions": "6"})
    assert (status, "A pull request is open" in page) == (200, True)
    (text,) = scene.requested().values()
    assert text.startswith(f"{OURS}---\n{ADS}---\n")
    scene.push(scene.requested())
    assert scene.git.status.state == "Synced"
    assert scene.git.view().topics.by_name["clicks"].declared.partitions == 6


def test_the_same_form_sent_twice_is_one_request(scene: Scene) -> None:
    form = {**fields_in(looked_at(scene, CHANGE, {BROKERS: "4"})), "do": "request"}
    browser = scene.git.house.browser("ada", OWNER)
    assert [browser.post(CHANGE, data=form).status_code for _ in range(2)] == [200, 200]
    assert len(scene.forge.world.requests) == 1


def test_a_file_that_says_something_newer_is_left_alone(scene: Scene) -> None:
    """A commit the poll has not seen yet: the request would take it back."""
    newer = {FILE: OURS.replace("log.retention.hours: 72", "log.retention.hours: 12")}
    world = scene.forge.world
    world.commits["newer"] = world.add(newer, "", "change", ("Bob", "bob@example.org"))
    world.branches["main"] = "newer"
    status, page = sent(scene, CHANGE, {BROKERS: "4"})
    assert status == 409
    assert f"{FILE} on the branch main does not say what is in force of orders" in page
    status, page = sent(scene, CLICKS, {"spec.partitions": "6"})
    assert status == 409
    assert "does not say what is in force of orders/clicks" in page
    assert world.requests == []


def test_what_was_not_shown_is_not_asked_for(scene: Scene) -> None:
    shown = fields_in(looked_at(scene, CHANGE, {BROKERS: "4"}))
    answer = scene.git.house.browser("ada", OWNER).post(CHANGE, data={**shown, BROKERS: "2", "do": "request"})
    assert answer.status_code == 422
    assert scene.forge.world.requests == []


def test_a_commit_that_would_be_refused_is_not_offered() -> None:
    """A binding that only creates, and a spec that would leave its binding's team."""
    everywhere = Binding("", Role.OWNER, "*")
    assert BUTTON not in looked_at(scene_of("create"), CHANGE, {BROKERS: "4"})
    scene = scene_of()
    assert BUTTON in looked_at(scene, CHANGE, {BROKERS: "4"}, who=everywhere)
    moved = looked_at(scene, CHANGE, {"metadata.owner": "search"}, who=everywhere)
    assert BUTTON not in moved
    form = {**fields_in(moved), "do": "request"}
    answer = scene.git.house.browser("ada", everywhere).post(CHANGE, data=form)
    assert (answer.status_code, scene.forge.world.requests) == (409, [])


def test_without_a_forge_the_page_says_where_the_file_is() -> None:
    scene = Scene(GitHouse(binding=binding(path="kafka", team="payments")), has_forge=False)
    scene.push({FILE: OURS})
    page = looked_at(scene, CHANGE, {BROKERS: "4"})
    assert BUTTON not in page
    assert "Change that file" in page


def test_a_forge_that_is_away_is_told_and_the_form_can_be_sent_again(scene: Scene) -> None:
    scene.forge.fault = ForgeFault("Unreachable", what="reading", where="github", why="it did not answer")
    assert sent(scene, CHANGE, {BROKERS: "4"})[0] == 503
    scene.forge.fault = None
    assert sent(scene, CHANGE, {BROKERS: "4"})[0] == 200


def test_what_the_api_declares_takes_no_pull_request(scene: Scene) -> None:
    scene.git.house.apply(named("own", OURS))
    shown = looked_at(scene, "/clusters/own/change", {BROKERS: "4"})
    assert BUTTON not in shown
    assert ">Declare</button>" in shown
    answer = scene.git.house.browser("ada", OWNER).post(
        "/clusters/own/change", data={**fields_in(shown), "do": "request"}
    )
    assert (answer.status_code, scene.forge.world.requests) == (409, [])


def test_who_may_not_see_the_source_is_told_where_it_is_changed_and_no_more() -> None:
    """The owner of a cluster by its name, and not of the team the source belongs to."""
    scene = scene_of()
    page = looked_at(scene, CHANGE, {BROKERS: "4"}, who=Binding("", Role.OWNER, "cluster:orders"), name="una")
    assert "It cannot be changed here:" in page
    assert BUTTON not in page
