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
from tests.unit.controlplane.api.test_rollback import Desk
from tests.unit.controlplane.background.git_sync.git_house import GitHouse, binding, named

FILE = "kafka/all.yaml"
ADS = "# theirs\n" + named("ads", OURS)
BUTTON = "Open a pull request"


def desk_of(*verbs: str) -> Desk:
    desk = Desk(GitHouse(binding=binding(path="kafka", team="payments", verbs=verbs or ("create", "change"))))
    desk.push({FILE: f"{OURS}---\n{ADS}---\n{TOPIC.strip().removeprefix('---').strip()}\n"})
    return desk


@pytest.fixture
def desk() -> Desk:
    return desk_of()


def looked_at(desk: Desk, path: str, changes: Mapping[str, str], *, who: Binding = OWNER, name: str = "ada") -> str:
    browser = desk.git.house.browser(name, who)
    return str(browser.post(path, data={**fields_in(browser.get(path).text), **changes}).text)


def sent(desk: Desk, path: str, changes: Mapping[str, str]) -> tuple[int, str]:
    """Opened, filled in, looked at, asked for: the answer to the last step."""
    shown = looked_at(desk, path, changes)
    answer = desk.git.house.browser("ada", OWNER).post(path, data={**fields_in(shown), "do": "request"})
    return answer.status_code, html.unescape(answer.text)


def test_a_change_of_a_cluster_becomes_a_pull_request_of_its_file_and_nothing_is_declared(desk: Desk) -> None:
    before = desk.git.house.store.head()
    assert BUTTON in looked_at(desk, CHANGE, {BROKERS: "4"})
    status, page = sent(desk, CHANGE, {BROKERS: "4"})
    assert status == 200
    assert "https://forge.example.org/platform/specs/pull/1" in page
    assert BUTTON not in page
    world = desk.forge.world
    commit = world.commits[world.branches[world.requests[0]["head"]]]
    assert commit.author == ("ada", "ada@example.org")
    assert commit.message.startswith("Change orders\n\nKedge opens this for `ada`.")
    assert "size: 3 -> 4" in commit.message
    assert desk.git.house.store.head() == before
    (text,) = desk.requested().values()
    assert ADS in text, "what others declare in the file stays to the byte"
    desk.push(desk.requested())
    document = desk.git.view().document
    assert desk.git.standing.state == "Synced"
    assert document is not None
    assert document.spec.pools[1].size == 4
    assert "clicks" in desk.git.view().topics.by_name


def test_so_does_a_change_of_a_topic(desk: Desk) -> None:
    status, page = sent(desk, CLICKS, {"spec.partitions": "6"})
    assert (status, "A pull request is open" in page) == (200, True)
    (text,) = desk.requested().values()
    assert text.startswith(f"{OURS}---\n{ADS}---\n")
    desk.push(desk.requested())
    assert desk.git.standing.state == "Synced"
    assert desk.git.view().topics.by_name["clicks"].declared.partitions == 6


def test_the_same_form_sent_twice_is_one_request(desk: Desk) -> None:
    form = {**fields_in(looked_at(desk, CHANGE, {BROKERS: "4"})), "do": "request"}
    browser = desk.git.house.browser("ada", OWNER)
    assert [browser.post(CHANGE, data=form).status_code for _ in range(2)] == [200, 200]
    assert len(desk.forge.world.requests) == 1


def test_a_file_that_says_something_newer_is_left_alone(desk: Desk) -> None:
    """A commit the poll has not seen yet: the request would take it back."""
    newer = {FILE: OURS.replace("log.retention.hours: 72", "log.retention.hours: 12")}
    world = desk.forge.world
    world.commits["newer"] = world.add(newer, "", "change", ("Bob", "bob@example.org"))
    world.branches["main"] = "newer"
    status, page = sent(desk, CHANGE, {BROKERS: "4"})
    assert status == 409
    assert f"{FILE} on the branch main does not say what is in force of orders" in page
    status, page = sent(desk, CLICKS, {"spec.partitions": "6"})
    assert status == 409
    assert "does not say what is in force of orders/clicks" in page
    assert world.requests == []


def test_what_was_not_shown_is_not_asked_for(desk: Desk) -> None:
    shown = fields_in(looked_at(desk, CHANGE, {BROKERS: "4"}))
    answer = desk.git.house.browser("ada", OWNER).post(CHANGE, data={**shown, BROKERS: "2", "do": "request"})
    assert answer.status_code == 422
    assert desk.forge.world.requests == []


def test_a_commit_that_would_be_refused_is_not_offered() -> None:
    """A binding that only creates, and a spec that would leave its binding's team."""
    everywhere = Binding("", Role.OWNER, "*")
    assert BUTTON not in looked_at(desk_of("create"), CHANGE, {BROKERS: "4"})
    desk = desk_of()
    assert BUTTON in looked_at(desk, CHANGE, {BROKERS: "4"}, who=everywhere)
    moved = looked_at(desk, CHANGE, {"metadata.owner": "search"}, who=everywhere)
    assert BUTTON not in moved
    form = {**fields_in(moved), "do": "request"}
    answer = desk.git.house.browser("ada", everywhere).post(CHANGE, data=form)
    assert (answer.status_code, desk.forge.world.requests) == (409, [])


def test_without_a_forge_the_page_says_where_the_file_is() -> None:
    desk = Desk(GitHouse(binding=binding(path="kafka", team="payments")), has_forge=False)
    desk.push({FILE: OURS})
    page = looked_at(desk, CHANGE, {BROKERS: "4"})
    assert BUTTON not in page
    assert "Change that file" in page


def test_a_forge_that_is_away_is_told_and_the_form_can_be_sent_again(desk: Desk) -> None:
    desk.forge.fault = ForgeFault("Unreachable", what="reading", where="github", why="it did not answer")
    assert sent(desk, CHANGE, {BROKERS: "4"})[0] == 503
    desk.forge.fault = None
    assert sent(desk, CHANGE, {BROKERS: "4"})[0] == 200


def test_what_the_api_declares_takes_no_pull_request(desk: Desk) -> None:
    desk.git.house.apply(named("own", OURS))
    shown = looked_at(desk, "/clusters/own/change", {BROKERS: "4"})
    assert BUTTON not in shown
    assert ">Declare</button>" in shown
    answer = desk.git.house.browser("ada", OWNER).post(
        "/clusters/own/change", data={**fields_in(shown), "do": "request"}
    )
    assert (answer.status_code, desk.forge.world.requests) == (409, [])


def test_who_may_not_see_the_source_is_told_where_it_is_changed_and_no_more() -> None:
    """The owner of a cluster by its name, and not of the team the source belongs to."""
    desk = desk_of()
    page = looked_at(desk, CHANGE, {BROKERS: "4"}, who=Binding("", Role.OWNER, "cluster:orders"), name="una")
    assert "It cannot be changed here:" in page
    assert BUTTON not in page
