"""Back to an earlier declaration of a topic: what it can take back, on the way clusters go back, and what it cannot."""

from typing import Any

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.api.test_proposals import APPROVER, OURS, OWNER, POLICY, TOPIC, Shelved, token_of
from tests.unit.controlplane.api.test_rollback import WITH_COMMENT, Scene, _hidden
from tests.unit.controlplane.background.git_sync.git_house import LARGER, named

PATH = "/v1/clusters/orders/topics/clicks"
PAGE = "/clusters/orders/topics/clicks"


def clicks(**spec: Any) -> str:
    """The topic as a document of a file."""
    told = {"cluster": "orders", "partitions": 3, **spec}
    return TOPIC.replace("{cluster: orders, partitions: 3}", str(told))


KEPT_LONGER = clicks(config={"retention.ms": 7200000})
GROWN = clicks(partitions=6)


@pytest.fixture
def house() -> House:
    house = House()
    house.apply(OURS + TOPIC)
    house.apply(KEPT_LONGER)
    return house


def ask(house: House, to: int, **more: Any) -> Any:
    return house.client.post(f"{PATH}/rollback", json={"to": to, **more})


def declared(house: House) -> Any:
    return house.view().topics.by_name["clicks"].declared


def test_declarations_are_numbered_and_each_says_what_it_changed(house: House) -> None:
    house.apply(KEPT_LONGER)
    told = house.client.get(f"{PATH}/declarations").json()["declarations"]
    assert [(d["number"], d["in_force"], d["changes"]) for d in told] == [
        (2, True, ["retention.ms unset -> 7200000"]),
        (1, False, []),
    ]
    assert told[0]["declared_by"].startswith("person:")
    assert told[1]["source"] == "api"


def test_a_dry_run_says_what_it_would_do_and_changes_nothing(house: House) -> None:
    head = house.store.head()
    told = ask(house, 1, dry_run=True).json()
    assert (told["topic"], told["way"], told["ok"], told["changed"]) == ("clicks", "apply", True, False)
    assert told["topics"] == ["~ topic orders/clicks: retention.ms 7200000 -> unset"]
    assert told["digest"]
    assert house.store.head() == head


def test_what_the_api_declared_is_declared_again_as_a_new_declaration(house: House) -> None:
    first = house.client.get(f"{PATH}/declarations").json()["declarations"][-1]
    plan = ask(house, 1, dry_run=True).json()
    told = ask(house, 1, plan_digest=plan["digest"], reason="too much disk").json()
    assert told["changed"], told
    assert told["sentence"] == "orders/clicks is declared as declaration 1 had it"
    assert declared(house).config == first["config"]
    numbers = house.client.get(f"{PATH}/declarations").json()["declarations"]
    assert [(d["number"], d["in_force"]) for d in numbers] == [(3, True), (2, False), (1, False)]
    assert numbers[0]["path"] == "clicks of declaration 1: back to declaration 1: too much disk"
    assert house.view().generation == 1, "its cluster stays as it is"
    assert house.woken


def test_what_a_declaration_meant_comes_back_whole(house: House) -> None:
    house.apply(clicks(tier="critical", replicas=3, rate={"min": 1, "max": 9}, onLoss="recreate"))
    wanted = declared(house)
    house.apply(clicks(tier="scratch"))
    assert declared(house) != wanted
    assert ask(house, 3).json()["changed"]
    assert declared(house) == wanted


def test_partitions_never_shrink_and_it_says_so(house: House) -> None:
    house.apply(GROWN)
    assert ask(house, 1, dry_run=True).json()["ok"] is True, "no partition of it was made yet"
    house.snapshots[house.view().uid] = a_snapshot(*(a_partition(f"clicks-{n}", (1000, 1001)) for n in range(6)))
    head = house.store.head()
    told = ask(house, 1).json()
    assert (told["ok"], told["changed"]) == (False, False)
    (problem,) = told["problems"]
    assert "6" in problem["message"]
    assert "3" in problem["message"]
    assert house.store.head() == head
    assert declared(house).partitions == 6


def test_what_was_adopted_as_found_has_no_document_to_go_back_to(house: House) -> None:
    house.snapshots[house.view().uid] = a_snapshot(a_partition("payments-0", (1000, 1001)))
    house.client.post("/v1/clusters/orders/topics/payments/adopt", json={"reason": "x"})
    house.apply(TOPIC.replace("clicks", "payments").replace("partitions: 3", "partitions: 1"))
    refused = house.client.post("/v1/clusters/orders/topics/payments/rollback", json={"to": 1})
    assert (refused.status_code, refused.json()["code"]) == (409, "no-document")
    assert "adopted as it was found" in refused.text


def test_one_in_force_one_that_is_none_and_one_that_was_deleted_are_refused(house: House) -> None:
    for to, status, code in ((2, 409, "in-force"), (9, 404, "declaration-not-found")):
        refused = ask(house, to)
        assert (refused.status_code, refused.json()["code"]) == (status, code)
    assert house.client.get("/v1/clusters/orders/topics/nowhere/declarations").status_code == 404
    house.client.post(f"{PATH}/delete", json={"confirm": "clicks", "reason": "x"})
    gone = ask(house, 1)
    assert (gone.status_code, gone.json()["code"]) == (409, "topic-not-kept")
    assert "without its records" in gone.text
    assert len(house.client.get(f"{PATH}/declarations").json()["declarations"]) == 2


def test_a_plan_that_moved_is_refused(house: House) -> None:
    plan = ask(house, 1, dry_run=True).json()
    house.apply(clicks(config={"retention.ms": 60000}))
    moved = ask(house, 1, plan_digest=plan["digest"])
    assert (moved.status_code, moved.json()["code"]) == (409, "plan-moved")
    assert declared(house).config["retention.ms"] == "60000"


def test_a_policy_refuses_an_old_declaration_like_any_other_change() -> None:
    store = Shelved()
    house = House(policies=store)
    house.apply(OURS)
    house.apply(clicks(partitions=8))
    house.apply(clicks(partitions=8, config={"retention.ms": 7200000}))
    store.known = Shelved(POLICY.replace("maxTopicPartitions: 10", "maxTopicPartitions: 4")).known
    told = ask(house, 1).json()
    assert (told["ok"], told["changed"]) == (False, False)
    assert "at most 4" in told["problems"][0]["message"]


def test_what_a_policy_reserves_waits_for_a_second_person_and_is_declared_by_their_yes() -> None:
    store = Shelved(POLICY.replace("ownerChange: true", "ownerChange: false"))
    house = House(policies=store)
    house.apply(OURS + TOPIC.replace("name: clicks", "name: clicks, owner: web"))
    house.apply(TOPIC.replace("name: clicks", "name: clicks, owner: payments"))
    store.known = Shelved().known
    ada = token_of(house, "ada", OWNER)
    plan = ada.post(f"{PATH}/rollback", json={"to": 1, "dry_run": True}).json()
    assert plan["reserved"]
    told = ada.post(f"{PATH}/rollback", json={"to": 1, "plan_digest": plan["digest"]}).json()
    assert told["changed"] is False
    assert declared(house).owner == "payments"
    bob = token_of(house, "bob", APPROVER)
    assert bob.post(f"/v1/proposals/{told['proposal']}/approve", json={}).json()["state"] == "executed"
    assert declared(house).owner == "web"


def test_who_comes_from_git_goes_back_by_a_pull_request_in_ones_own_name() -> None:
    scene = Scene()
    first = TOPIC.strip().removeprefix("---").strip().replace("kind: KafkaTopic", "kind: KafkaTopic  # theirs")
    rest = f"{WITH_COMMENT}---\n{named('ads')}---\n"
    scene.push({"kafka/all.yaml": f"{rest}{first}\n"})
    scene.push({"kafka/all.yaml": f"{rest}{KEPT_LONGER.strip().removeprefix('---').strip()}\n"})
    house = scene.git.house
    head = house.store.head()
    client = house.client_with({"Authorization": "Bearer the-token", "X-Kedge-Actor": "ada"})
    answer = client.post(f"{PATH}/rollback", json={"to": 1, "reason": "too much disk"})
    told = answer.json()
    assert (told["way"], told["path"], told["source"]) == ("pull-request", "kafka/all.yaml", "git:teams"), answer.text
    assert scene.requested() == {"kafka/all.yaml": f"{rest}{first}\n"}, "as people wrote it, and the rest to the byte"
    world = scene.forge.world
    commit = world.commits[world.branches[told["request"]["branch"]]]
    assert commit.author == ("ada", "ada@example.org")
    assert commit.message.startswith("Roll orders/clicks back to declaration 1\n\nKedge opens this for `ada`.")
    assert "retention.ms 7200000 -> unset" in commit.message
    assert house.store.head() == head
    scene.push(scene.requested())
    assert scene.git.status.state == "Synced"
    assert declared(house).config == {}


def test_where_no_forge_is_set_a_dry_run_has_the_document_to_commit() -> None:
    scene = Scene(has_forge=False)
    scene.push({"kafka/orders.yaml": LARGER + TOPIC})
    scene.push({"kafka/orders.yaml": LARGER + KEPT_LONGER})
    told = ask(scene.git.house, 1, dry_run=True).json()
    assert (told["way"], told["path"], told["ok"]) == ("file", "kafka/orders.yaml", True)
    assert "kind: KafkaTopic" in told["text"]
    refused = ask(scene.git.house, 1)
    assert (refused.status_code, refused.json()["code"]) == (409, "no-forge")


def test_who_may_not_declare_may_look_and_not_go_back(house: House) -> None:
    eve = house.browser("eve", Binding("", Role.OPERATOR, "*"))
    assert eve.get(f"{PAGE}/rollback?to=1").status_code == 403
    assert "roll back to this" not in eve.get(f"{PAGE}/declarations").text
    stranger = house.browser("mallory", Binding("", Role.OWNER, "team:search"))
    assert stranger.get(f"{PAGE}/declarations").status_code == 404
    assert stranger.get(f"{PAGE}/rollback?to=1").status_code == 404


def test_the_page_of_a_topic_leads_to_its_declarations_and_back_to_one(house: House) -> None:
    browser = house.browser("ada", OWNER)
    assert f"{PAGE}/declarations" in browser.get(PAGE).text
    told = browser.get(f"{PAGE}/declarations").text
    assert f"{PAGE}/rollback?to=1" in told
    assert f"{PAGE}/rollback?to=2" not in told
    shown = browser.get(f"{PAGE}/rollback?to=1").text
    assert "retention.ms 7200000 -&gt; unset" in shown
    form = {name: _hidden(shown, name) for name in ("to", "digest", "key")}
    moved = browser.post(f"{PAGE}/rollback", data={**form, "digest": "other"})
    assert moved.status_code == 422
    assert "The plan has changed" in moved.text
    done = browser.post(f"{PAGE}/rollback", data=form)
    assert (done.status_code, done.headers["location"]) == (303, f"{PAGE}/declarations")
    assert declared(house).config == {}


def test_the_same_order_twice_is_one_declaration(house: House) -> None:
    assert ask(house, 1).json()["changed"]
    head = house.store.head()
    assert ask(house, 1).status_code == 409
    assert house.store.head() == head
