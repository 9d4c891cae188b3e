"""Publishing and withdrawing: idempotent, never a changed revision, and who stands where."""

from dataclasses import replace

import pytest

from controlplane.cluster.commands import CommandRefused
from controlplane.cluster.view import ClusterView
from controlplane.fleet.images.commands import ImageService
from controlplane.fleet.images.state import ImageCache
from events import facts
from tests.builders import NOW, a_planned, an_instance
from tests.fakes.event_store import MemoryEventStore
from tests.unit.controlplane.fleet.images.catalogue_of import flagged, published
from tests.unit.controlplane.fleet.images.test_choice import a_follower, another, on


class Office:
    """A service with its store and the clusters it sees."""

    def __init__(self, *views: ClusterView) -> None:
        self.store, self.cache = MemoryEventStore(), ImageCache()
        for view in views:
            self.cache.note(view)
        self.service = ImageService(
            self.store, self.cache, lambda: views, lambda v: f"{v.name} says so", self.catch_up, lambda: NOW
        )

    def catch_up(self) -> None:
        for recorded in self.store.read_all(0):
            self.cache.take_in(recorded)

    def publish(self, fact: facts.ImagePublished, key: str) -> str:
        return self.service.publish(fact, actor="person:anna", command_id=key).name


def test_without_a_number_it_is_the_next_one() -> None:
    office = Office()
    assert office.publish(published(0, notes="first"), "a") == "4.1.1-r1"
    assert office.publish(published(0, notes="second"), "b") == "4.1.1-r2"
    assert office.publish(published(7, notes="third"), "c") == "4.1.1-r7"
    assert office.publish(published(0, kafka_version="4.2.0"), "d") == "4.2.0-r1"


def test_the_same_request_and_the_same_content_are_published_once() -> None:
    office = Office()
    first = office.publish(published(0), "a")
    again = office.service.publish(published(0), actor="person:anna", command_id="a")
    assert (again.name, again.sentence) == (first, f"{first}: asked for already")
    other_call = office.service.publish(published(0), actor="person:bob", command_id="b")
    assert (other_call.name, "is published already" in other_call.sentence) == (first, True)
    assert office.store.head() == 1


def test_a_number_is_used_once_and_never_again_an_older_one() -> None:
    office = Office()
    office.publish(published(3), "a")
    for number in (3, 2):
        with pytest.raises(CommandRefused) as refused:
            office.publish(published(number, notes="other"), f"b{number}")
        assert refused.value.code == "image-number-taken"
    assert office.store.head() == 1


def test_a_withdrawal_is_recorded_once_and_a_strange_name_refused() -> None:
    office = Office()
    name = office.publish(published(0), "a")
    told = office.service.withdraw(name, reason="bad", actor="person:anna", command_id="b")
    assert told == f"{name} is withdrawn: nobody begins to roll to it; VMs made from it stay"
    assert "already: bad" in office.service.withdraw(name, reason="", actor="person:anna", command_id="c")
    with pytest.raises(CommandRefused) as refused:
        office.service.withdraw("4.1.1-r9", reason="", actor="person:anna", command_id="d")
    assert (refused.value.code, name in str(refused.value)) == ("image-not-found", True)
    assert office.store.head() == 2
    assert office.publish(published(0), "e") == "4.1.1-r2", "what was withdrawn may be published again, as another"


def test_each_cluster_stands_where_it_is_with_the_reason() -> None:
    made = an_instance()
    there = replace(made, planned=a_planned(image=facts.PlannedImage("4.1.1-r1", {})))
    rolling = another("b-rolls", "staging", image=on(1, reached=False), instances={"x": there, "y": made})
    views = (
        another("a-on-it", "staging", image=on(1), instances={"x": there}),
        rolling,
        another("c-waits", "production", instances={"y": made}),
        another("d-pinned", "production", policy="{pin: 7}", instances={"y": made}),
        replace(a_follower("", instances={"y": made}), name="e-idle"),
    )
    office = Office(*views)
    office.publish(flagged(0), "a")
    (status,) = office.service.statuses()
    assert [(c.name, c.vms, c.of) for c in status.on] == [("a-on-it", 1, 1)]
    assert [(c.name, c.stage, c.vms, c.of) for c in status.due] == [
        ("b-rolls", "staging", 1, 2),
        ("c-waits", "production", 0, 1),
    ]
    assert status.due[0].why == "b-rolls says so"
    assert "waits for b-rolls (staging), which has not begun" in status.due[1].why
    assert [(c.name, c.why) for c in status.left] == [
        ("d-pinned", "pinned to 7 by `kafka.image.pin`"),
        ("e-idle", "follows nothing: `kafka.image.follow` in its spec is `none`"),
    ]


def test_nobody_has_to_have_what_is_not_flagged() -> None:
    office = Office(replace(a_follower("", instances={"y": an_instance()}), name="e-idle"))
    office.publish(published(0), "a")
    (status,) = office.service.statuses()
    assert status.on == status.due == status.left == ()
