"""/v1/images and its page: publishing, withdrawing, who may, and what is told of clusters that are others'."""

from dataclasses import replace

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.rights import Forbidden, rights_of
from controlplane.api.access.roles import Role
from controlplane.api.scoped.services import scoped
from controlplane.fleet.images.commands import ImageService
from controlplane.fleet.images.state import ImageCache
from controlplane.portal.app import create_app
from events import facts
from tests.unit.controlplane.api.portal_house import House, broker
from tests.unit.events.spec_texts import ORDERS

A_FILE = {
    "kafka": "4.1.1",
    "images": {"local/local-1": {"any": "r1"}, "aws/eu-west-1": {"x86_64": "ami-1", "arm64": "ami-2"}},
    "security": "high",
    "reason": "CVE-2026-1",
}


@pytest.fixture
def house() -> House:
    """A server with a catalogue and the cluster `orders`, which follows nothing."""
    house = House()
    cache = ImageCache()

    def catch_up() -> None:
        house.converger.catch_up()
        for recorded in house.store.read_all(0):
            cache.take_in(recorded)

    service = ImageService(
        house.store, cache, house.converger.views, house.converger.sentence_on, catch_up, lambda: house.now
    )
    house.services = replace(house.services, fleet=replace(house.services.fleet, images=service))
    house.app = create_app(house.services)
    house.client = house.client_with(dict(house.client.headers))
    house.apply(ORDERS)
    house.join(broker(kafka_version="4.2.0"))
    return house


def test_a_published_revision_is_listed_with_the_clusters_it_concerns(house: House) -> None:
    version = house.view().document.spec.kafka.version  # type: ignore[union-attr]
    done = house.client.post("/v1/images", json={**A_FILE, "kafka": version})
    assert done.json()["name"] == f"{version}-r1", done.text
    (image,) = house.client.get("/v1/images").json()["items"]
    assert (image["security"], image["reason"], image["published_by"]) == ("high", "CVE-2026-1", "person:local")
    assert image["images"]["aws/eu-west-1"] == {"arm64": "ami-2", "x86_64": "ami-1"}
    assert [c["name"] for c in image["left"]] == ["orders"]
    one = house.client.get(f"/v1/images/{version}-r1").json()
    assert one == image


def test_the_same_call_is_answered_alike_and_recorded_once(house: House) -> None:
    key = {"Idempotency-Key": "k"}
    first = house.client.post("/v1/images", json=A_FILE, headers=key)
    head = house.store.head()
    assert house.client.post("/v1/images", json=A_FILE, headers=key).json()["name"] == first.json()["name"]
    assert house.store.head() == head


@pytest.mark.parametrize(
    "wrong",
    [
        {"images": {}},
        {"reason": ""},
        {"security": "dire"},
        {"images": {"aws": {"any": "ami-1"}}},
        {"images": {"aws/eu-west-1": {"risc": "ami-1"}}},
        {"kafka": "4.2"},
        {"archive": {"url": "https://mirror.example/kafka.tgz", "sha256": "short"}},
        {"more": "than is known"},
    ],
)
def test_a_revision_that_makes_no_sense_is_refused_whole(house: House, wrong: dict[str, object]) -> None:
    head = house.store.head()
    assert house.client.post("/v1/images", json={**A_FILE, **wrong}).status_code == 422
    assert house.store.head() == head


def test_a_withdrawal_says_why_and_a_strange_name_is_refused(house: House) -> None:
    house.client.post("/v1/images", json=A_FILE)
    done = house.client.post("/v1/images/4.1.1-r1/withdraw", json={"reason": "bad"})
    assert done.status_code == 200, done.text
    assert house.client.get("/v1/images/4.1.1-r1").json()["withdrawn"] == "bad"
    strange = house.client.post("/v1/images/4.1.1-r9/withdraw", json={})
    assert (strange.status_code, strange.json()["code"]) == (409, "image-not-found")
    assert house.client.get("/v1/images/4.1.1-r9").status_code == 404


def test_the_page_lists_revisions_and_shows_one_with_its_clusters(house: House) -> None:
    version = house.view().document.spec.kafka.version  # type: ignore[union-attr]
    browser = house.browser("ada", Binding("", Role.VIEWER, "*"))
    assert "Nothing was published" in browser.get("/images").text
    house.client.post("/v1/images", json={**A_FILE, "kafka": version, "notes": "<b>bold</b>"})
    listed = browser.get("/images").text
    assert f"/images?of={version}-r1" in listed
    assert "CVE-2026-1" in listed
    one = browser.get(f"/images?of={version}-r1").text
    assert "/clusters/orders" in one
    assert "follows nothing" in one
    assert "&lt;b&gt;bold" in one
    assert browser.get("/images?of=9.9.9-r9").status_code == 404
    stranger = house.browser("eve", Binding("", Role.OWNER, "team:search"))
    assert "/clusters/orders" not in stranger.get(f"/images?of={version}-r1").text


def test_only_an_administrator_changes_the_catalogue_and_clusters_of_others_are_left_out(house: House) -> None:
    version = house.view().document.spec.kafka.version  # type: ignore[union-attr]
    house.client.post("/v1/images", json={**A_FILE, "kafka": version})
    stranger = scoped(house.services, rights_of("user:eve", [Binding("user:eve", Role.OWNER, "team:search")]))
    (status,) = stranger.fleet.images.statuses()
    assert status.left == ()
    wanted = facts.ImagePublished("4.1.1", 0, (), "", "", "", "", "")
    with pytest.raises(Forbidden):
        stranger.fleet.images.publish(wanted, actor="user:eve", command_id="a")
    with pytest.raises(Forbidden):
        stranger.fleet.images.withdraw(f"{version}-r1", reason="", actor="user:eve", command_id="b")
    reader = scoped(house.services, rights_of("user:eve", [Binding("user:eve", Role.VIEWER, "*")]))
    assert [c.name for c in reader.fleet.images.statuses()[0].left] == ["orders"]
