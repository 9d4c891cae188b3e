"""Announcements of maintenance are read seldom, by one thread, and a reading that fails harms nobody; nor are listings
read oftener than the account's calls allow."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from controlplane.converger.tick.announcements import READ_EVERY, Announcements
from controlplane.converger.tick.inventory import ListedInventory
from events.ids import ClusterUid
from providers.base import Listing, Place
from providers.call_budget import CallRate, TokenBucket
from providers.errors import CloudUnavailable
from providers.notices import MaintenanceNotice, NoticeKind
from tests.builders import NODES, NOW, a_view, an_instance
from tests.fakes.cloud import FakeCloud

PLACE = Place("local", "local-1")
NOTICE = MaintenanceNotice(NoticeKind.STOP, NOW + timedelta(days=3))


@dataclass
class AnnouncingCloud(FakeCloud):
    """Tells the notices it is given, or fails."""

    told: dict[str, MaintenanceNotice] = field(default_factory=dict)
    fails: bool = False
    asked: int = 0
    listings: int = 0
    rate: CallRate | None = None

    def notices(self, place: Place) -> Mapping[str, MaintenanceNotice]:
        self.asked += 1
        if self.fails:
            raise CloudUnavailable("no answer")
        return dict(self.told)

    def list_place(self, place: Place) -> Listing:
        self.listings += 1
        return FakeCloud.list_place(self, place)

    def calls(self, place: Place) -> TokenBucket:
        return TokenBucket(str(place), self.rate)


class Sky:
    def __init__(self, rate: CallRate | None = None) -> None:
        self.now = NOW
        self.cloud = AnnouncingCloud(now=lambda: self.now, rate=rate)
        self.read = Announcements(lambda _name: self.cloud, lambda: self.now)

    def later(self, span: timedelta) -> None:
        self.now += span


def test_a_place_is_asked_once_in_a_while_however_often_it_is_looked_at() -> None:
    sky = Sky()
    sky.cloud.told = {"vm-1": NOTICE}
    assert [sky.read.of(PLACE) for _ in range(3)] == [{"vm-1": NOTICE}] * 3
    assert sky.cloud.asked == 1
    sky.later(READ_EVERY)
    sky.cloud.told = {}
    assert sky.read.of(PLACE) == {}
    assert sky.cloud.asked == 2


def test_a_reading_that_fails_leaves_the_one_before_and_is_not_repeated_at_once() -> None:
    sky = Sky()
    sky.cloud.told = {"vm-1": NOTICE}
    sky.read.of(PLACE)
    sky.later(READ_EVERY)
    sky.cloud.fails = True
    assert [sky.read.of(PLACE)["vm-1"] for _ in range(3)] == [NOTICE] * 3
    assert sky.cloud.asked == 2


def test_an_account_with_few_calls_is_listed_less_often() -> None:
    for rate, listings in ((None, 10), (CallRate(100, 20.0), 10), (CallRate(160, 1.34), 2)):
        sky = Sky(rate)
        inventory = ListedInventory(lambda _name, sky=sky: sky.cloud, lambda sky=sky: sky.now, rest_age_s=1.0)
        view = a_view(*(an_instance(n) for n in NODES), uid=ClusterUid("one"))
        for _ in range(10):
            inventory.seen(view)
            sky.later(timedelta(seconds=1))
        assert sky.cloud.listings == listings, rate


def test_a_listing_that_has_to_be_newer_is_read_whatever_it_costs() -> None:
    sky = Sky(CallRate(160, 1.34))
    inventory = ListedInventory(lambda _name: sky.cloud, lambda: sky.now)
    view = a_view(*(an_instance(n) for n in NODES), uid=ClusterUid("one"))
    inventory.seen(view)
    sky.later(timedelta(seconds=1))
    inventory.seen(view, newer_than=NOW)
    assert sky.cloud.listings == 2
