"""Declaring and thawing: bounded, idempotent, and refused whole where it makes no sense."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from controlplane.cluster.commands import ClusterNotFound, CommandRefused
from controlplane.fleet.freezes.commands import MOST, FreezeService, WantedFreeze
from controlplane.fleet.freezes.fold import LONGEST
from controlplane.fleet.freezes.state import FreezeCache
from controlplane.storage.streams import FREEZES
from events import facts
from events.codec import encode
from events.envelope import Origin
from tests.builders import NOW, a_document, a_view
from tests.fakes.event_store import MemoryEventStore

HOUR = timedelta(hours=1)


class Office:
    """A service with its store, and the cluster `orders`."""

    def __init__(self) -> None:
        self.now = NOW
        self.store, self.cache = MemoryEventStore(lambda: self.now), FreezeCache()
        views = (a_view(document=a_document()), a_view(uid="gone", name="gone", document=a_document(), deleted=True))
        self.service = FreezeService(self.store, self.cache, lambda: views, self.catch_up, lambda: self.now)

    def catch_up(self) -> None:
        for recorded in self.store.read_all(0):
            self.cache.take_in(recorded)

    def declare(self, key: str = "a", until: datetime = NOW + HOUR, **more: Any) -> str:
        wanted = WantedFreeze(until, "audit", **(more or {"clusters": ("orders",)}))
        return self.service.declare(wanted, actor="person:anna", command_id=key).sentence

    def thaw(self, name: str, key: str = "t") -> str:
        return self.service.thaw(name, reason="over", actor="person:bob", command_id=key).sentence


def test_a_freeze_is_recorded_with_who_asked_and_says_what_it_holds() -> None:
    office = Office()
    said = office.declare()
    assert said == "freeze-1: orders is frozen until 2026-01-01 13:00 UTC; what has begun is ended, repairs go on"
    (recorded,) = office.store.read_stream(FREEZES)
    assert (recorded.type, recorded.actor) == ("freeze.declared", "person:anna")
    assert [f.id for f in office.cache.left(NOW)] == ["freeze-1"]


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"everything": True}, "the whole fleet is frozen"),
        ({"teams": ("payments",)}, "clusters of the team payments are frozen"),
        ({"clusters": ("orders",), "labels": (("stage", "production"),)}, "orders and clusters with stage=production"),
    ],
)
def test_whom_it_names_is_said_in_words(named: dict[str, Any], words: str) -> None:
    assert words in Office().declare(**named)


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ({"until": NOW, "everything": True}, "freeze-over"),
        ({"until": NOW + LONGEST + timedelta(seconds=1), "everything": True}, "freeze-too-long"),
        ({"everything": False}, "freeze-names-nothing"),
        ({"everything": True, "clusters": ("orders",)}, "freeze-names-nothing"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(wanted: dict[str, Any], code: str) -> None:
    office = Office()
    with pytest.raises(CommandRefused) as refused:
        office.declare(**wanted)
    assert refused.value.code == code
    assert office.store.head() == 0


def test_the_longest_freeze_is_allowed() -> None:
    assert "frozen until 2026-01-31 12:00 UTC" in Office().declare(until=NOW + LONGEST, everything=True)


@pytest.mark.parametrize("name", ["typo", "gone"])
def test_a_cluster_that_is_not_there_is_refused(name: str) -> None:
    office = Office()
    with pytest.raises(ClusterNotFound):
        office.declare(clusters=("orders", name))
    assert office.store.head() == 0


def test_there_are_never_more_in_force_than_ticks_can_bear() -> None:
    office = Office()
    for n in range(MOST):
        office.declare(f"k{n}")
    with pytest.raises(CommandRefused, match=f"{MOST} freezes are in force"):
        office.declare("one more")
    office.now += HOUR
    assert office.declare("later", until=office.now + HOUR).startswith(f"freeze-{MOST + 1}:")


def test_the_same_request_is_recorded_once() -> None:
    office = Office()
    office.declare("k")
    assert office.declare("k") == "freeze-1: asked for already"
    office.thaw("freeze-1", "t")
    assert office.thaw("freeze-1", "t") == "freeze-1: asked for already"
    assert office.store.head() == 2


def test_a_thaw_is_recorded_with_its_reason_and_a_second_one_says_who_was_first() -> None:
    office = Office()
    office.declare()
    assert office.thaw("freeze-1") == (
        "freeze-1 is thawed; what it held goes on, where no other freeze holds it (kedge freezes)"
    )
    assert office.cache.left(NOW) == ()
    assert office.thaw("freeze-1", "t2") == "freeze-1 was thawed already by bob: over"
    assert office.store.head() == 2


def test_what_ended_by_itself_needs_no_thaw() -> None:
    office = Office()
    office.declare()
    office.now += 2 * HOUR
    assert office.thaw("freeze-1") == "freeze-1 has ended by itself at 2026-01-01 13:00 UTC"
    assert office.store.head() == 1


def test_an_unknown_id_is_refused_and_says_where_to_look() -> None:
    with pytest.raises(CommandRefused, match="no freeze 'freeze-9'") as refused:
        Office().thaw("freeze-9")
    assert refused.value.code == "freeze-not-found"
    assert "kedge freezes" in refused.value.what_next


def test_of_two_people_at_once_both_freezes_are_recorded() -> None:
    office = Office()
    catch_up, told = office.catch_up, []

    def somebody_is_first() -> None:
        catch_up()
        if not told:
            told.append(1)
            fact = facts.FreezeDeclared("freeze-1", NOW + HOUR, "sale", (), (), {})
            office.store.append(FREEZES, [encode(fact, "other")], expected_version=0, origin=Origin("person:bob"))

    office.service = FreezeService(office.store, office.cache, office.service.views, somebody_is_first, lambda: NOW)
    assert office.declare().startswith("freeze-2:")
    assert [f.id for f in office.cache.left(NOW)] == ["freeze-1", "freeze-2"]
