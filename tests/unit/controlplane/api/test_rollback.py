"""Back to an earlier generation: by the ordinary checks where the API declares, by a pull request where git does."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.background.forges.forge import ForgeFault
from controlplane.background.forges.link import ForgeLink
from controlplane.background.forges.statuses import StatusReconciler
from controlplane.background.git_sync.forge_binding import ForgeBinding
from controlplane.background.git_sync.service import SourceService
from controlplane.portal.app import create_app
from tests.fakes.memory_forge import MemoryForge
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.api.test_proposals import CHAOS, POLICY, Shelved
from tests.unit.controlplane.background.git_sync.git_house import LARGER, GitHouse, named
from tests.unit.events.spec_texts import ORDERS

PATH = "/v1/clusters/orders/rollback"
WITH_COMMENT = ORDERS.replace("kind: KafkaCluster", "kind: KafkaCluster  # theirs")


@dataclass
class Scene:
    """A source whose repository is on a forge, or is not."""

    git: GitHouse = field(default_factory=GitHouse)
    forge: MemoryForge = field(default_factory=MemoryForge)
    has_forge: bool = True

    def __post_init__(self) -> None:
        reconciler = StatusReconciler(self.forge, lambda: None, portal="", clock=lambda: self.git.house.now)
        link = ForgeLink(
            ForgeBinding(kind="github", token_env="BOT", email_domain="example.org"), self.forge, reconciler
        )
        scene = SourceService(self.git.statuses, self.git.house.store, lambda _: True)
        fleet = replace(self.git.house.services.fleet, sources=scene, forges={"teams": link} if self.has_forge else {})
        self.git.house.app = create_app(replace(self.git.house.services, fleet=fleet))
        self.git.house.services = self.git.house.app.state.services
        self.client = self.git.house.client_with({"Authorization": "Bearer the-token"})

    def push(self, files: dict[str, str]) -> str:
        """The same commit in the repository and on its forge."""
        commit = self.git.push(files)
        self.forge.world.branches["main"] = commit
        self.forge.world.commits[commit] = self.forge.world.add(files, "", "change", ("Ada", "ada@example.org"))
        return commit

    def ask(self, to: int, client: TestClient | None = None, **more: Any) -> Any:
        return (client or self.client).post(PATH, json={"to": to, **more})

    def requested(self) -> dict[str, str]:
        """The files of the branch of the only request."""
        (request,) = self.forge.world.requests
        return self.forge.world.files_of(request["head"]) or {}


@pytest.fixture
def scene() -> Scene:
    found = Scene()
    found.push({"kafka/all.yaml": f"{WITH_COMMENT}---\n{named('ads')}"})
    found.push({"kafka/all.yaml": f"{LARGER}---\n{named('ads')}"})
    return found


@pytest.fixture
def house() -> House:
    house = House()
    house.apply(ORDERS)
    house.apply(LARGER)
    return house


def test_a_dry_run_shows_the_plan_and_changes_nothing(house: House) -> None:
    before = house.store.head()
    told = house.client.post(PATH, json={"to": 1, "dry_run": True}).json()
    assert (told["way"], told["ok"], told["changed"]) == ("apply", True, False)
    assert told["plans"][0]["changes"]
    assert house.store.head() == before


def test_what_the_api_declared_is_declared_again_as_a_new_generation(house: House) -> None:
    first = house.view().document
    plan = house.client.post(PATH, json={"to": 1, "dry_run": True}).json()
    told = house.client.post(PATH, json={"to": 1, "plan_digest": plan["digest"], "reason": "slower"}).json()
    assert told["changed"], told
    assert told["sentence"] == "orders is declared as generation 1 had it (generation 3)"
    view = house.view()
    assert view.generation == 3
    assert view.document != first
    declared = [e for e in house.store.read_all() if e.type == "cluster.declared"]
    assert declared[-1].data["document"] == declared[0].data["document"]
    assert declared[-1].data["source"] == "orders of generation 1: back to generation 1: slower"


def test_a_plan_that_moved_a_generation_that_is_none_and_one_in_force_are_refused(house: House) -> None:
    moved = house.client.post(PATH, json={"to": 1, "plan_digest": "other"})
    assert (moved.status_code, moved.json()["code"]) == (409, "plan-moved")
    none = house.client.post(PATH, json={"to": 9})
    assert (none.status_code, none.json()["code"]) == (404, "generation-not-found")
    same = house.client.post(PATH, json={"to": 2})
    assert (same.status_code, same.json()["code"]) == (409, "in-force")
    assert house.view().generation == 2


def test_policies_judge_an_old_spec_like_any_other_change() -> None:
    house = House(policies=Shelved(POLICY.replace("maxBrokers: 4", "maxBrokers: 6")))
    house.apply(CHAOS.replace("  chaos: allowed\n", ""))
    house.apply(LARGER.replace("name: orders", "name: orders\n  owner: payments"))
    assert isinstance(house.policies, Shelved)
    house.policies.known = Shelved(POLICY.replace("maxBrokers: 4", "maxBrokers: 2")).known
    told = house.client.post(PATH, json={"to": 1}).json()
    assert (told["ok"], told["changed"]) == (False, False)
    assert "at most 2 may be" in told["problems"][0]["message"]
    house.policies.known = Shelved(POLICY.replace("chaos: true", "chaos: true, rolling: 0")).known
    told = house.client.post(PATH, json={"to": 1}).json()
    assert told["proposal"]
    assert "second person" in told["sentence"]
    assert house.view().generation == 2


def test_what_comes_from_git_becomes_a_pull_request_with_the_person_as_author(scene: Scene) -> None:
    before = scene.git.house.store.head()
    client = scene.git.house.client_with({"Authorization": "Bearer the-token", "X-Kedge-Actor": "ada"})
    told = scene.ask(1, client, reason="the disks are too small").json()
    assert (told["way"], told["path"]) == ("pull-request", "kafka/all.yaml")
    world = scene.forge.world
    assert told["request"]["url"] == "https://forge.example.org/platform/specs/pull/1"
    assert told["request"]["url"] in told["sentence"]
    commit = world.commits[world.branches[told["request"]["branch"]]]
    assert commit.author == ("ada", "ada@example.org")
    assert commit.message.startswith("Roll orders back to generation 1\n\nKedge opens this for `ada`.")
    assert "    the disks are too small" in commit.message
    assert scene.git.house.store.head() == before
    assert scene.git.view().generation == 2


def test_the_old_document_comes_back_as_people_wrote_it_and_others_of_the_file_stay(scene: Scene) -> None:
    scene.ask(1)
    assert scene.requested() == {"kafka/all.yaml": f"{WITH_COMMENT}---\n{named('ads')}"}


def test_where_the_old_commit_is_gone_the_spec_is_written_anew(scene: Scene) -> None:
    world = scene.forge.world
    world.commits = {i: c for i, c in world.commits.items() if i == world.branches["main"]}
    scene.ask(1)
    text = scene.requested()["kafka/all.yaml"]
    assert text.endswith(f"---\n{named('ads')}")
    assert "theirs" not in text
    scene.push({"kafka/all.yaml": text})
    assert scene.git.status.state == "Synced"
    declared = [e for e in scene.git.house.store.read_all() if e.type == "cluster.declared"]
    assert declared[-1].data["document"] == declared[0].data["document"]


def test_a_file_whose_tip_is_broken_is_mended_by_it(scene: Scene) -> None:
    scene.push({"kafka/all.yaml": LARGER.replace("size: 6", "size: -6")})
    scene.ask(1)
    assert scene.requested() == {"kafka/all.yaml": WITH_COMMENT}


def test_asked_again_with_the_same_key_it_is_the_same_request(scene: Scene) -> None:
    client = scene.git.house.client_with({"Authorization": "Bearer the-token", "Idempotency-Key": "k" * 200})
    first = scene.ask(1, client).json()["request"]
    assert scene.ask(1, client).json()["request"] == first
    assert len(scene.forge.world.requests) == 1


def test_without_a_forge_it_is_refused_and_a_dry_run_has_the_file_to_commit() -> None:
    scene = Scene(has_forge=False)
    scene.push({"kafka/orders.yaml": ORDERS})
    scene.push({"kafka/orders.yaml": LARGER})
    told = scene.ask(1, dry_run=True).json()
    assert (told["way"], told["path"], told["ok"]) == ("file", "kafka/orders.yaml", True)
    scene.push({"kafka/orders.yaml": told["text"]})
    assert scene.git.status.state == "Synced"
    refused = scene.ask(2)
    assert (refused.status_code, refused.json()["code"]) == (409, "no-forge")


def test_a_forge_that_is_away_is_told_with_what_to_do(scene: Scene) -> None:
    scene.forge.fault = ForgeFault("Unreachable", what="reading", where="github", why="it did not answer")
    told = scene.ask(1)
    assert (told.status_code, told.json()["code"]) == (503, "forge-unreachable")
    assert (told.headers["retry-after"], told.json()["next"] != "") == ("15", True)
    scene.forge.fault = ForgeFault("NotAllowed", what="reading", where="github", why="it answered 403")
    assert scene.ask(1).status_code == 409


def test_who_may_not_declare_may_not_have_a_pull_request_opened(scene: Scene) -> None:
    browser = scene.git.house.browser("eve", Binding("", Role.OPERATOR, "*"))
    assert browser.get("/clusters/orders/rollback?to=1").status_code == 403
    assert "roll back to this" not in browser.get("/clusters/orders/history").text
    assert scene.forge.calls == []


def test_the_history_leads_to_a_page_that_opens_the_request_in_ones_own_name(scene: Scene) -> None:
    browser = scene.git.house.browser("ada", Binding("", Role.OWNER, "*"))
    history = browser.get("/clusters/orders/history").text
    assert "/clusters/orders/rollback?to=1" in history
    assert "/clusters/orders/rollback?to=2" not in history
    shown = browser.get("/clusters/orders/rollback?to=1")
    assert shown.status_code == 200
    assert "Open a pull request" in shown.text
    form = {name: _hidden(shown.text, name) for name in ("to", "digest", "key")}
    done = browser.post("/clusters/orders/rollback", data={**form, "reason": "<b>slow</b>"})
    assert "https://forge.example.org/platform/specs/pull/1" in done.text
    world = scene.forge.world
    assert world.commits[world.branches[world.requests[0]["head"]]].author == ("ada", "ada@example.org")


def test_on_the_page_a_plan_that_moved_is_shown_again(house: House) -> None:
    browser = house.browser("ada", Binding("", Role.OWNER, "*"))
    shown = browser.get("/clusters/orders/rollback?to=1").text
    form = {name: _hidden(shown, name) for name in ("to", "digest", "key")}
    moved = browser.post("/clusters/orders/rollback", data={**form, "digest": "other"})
    assert moved.status_code == 422
    assert "The plan has changed" in moved.text
    done = browser.post("/clusters/orders/rollback", data=form)
    assert (done.status_code, done.headers["location"]) == (303, "/clusters/orders/history")
    assert house.view().generation == 3


def _hidden(page: str, name: str) -> str:
    return page.partition(f'name="{name}" value="')[2].partition('"')[0]
