"""One listing of a place serves all its clusters; only an answer for that very id means `gone`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.intents import IntentView
from controlplane.converger.questions.clouds.rendering import terraform_run
from controlplane.converger.tick.inventory import REFUSAL, SILENCE, ListedInventory
from events.ids import ClusterUid
from providers.base import InstanceState, Listing, Place
from providers.errors import CloudUnavailable, NotPermitted
from tests.builders import BEFORE, NODES, NOW, a_view, an_instance
from tests.changed_view import changed_view
from tests.fakes.cloud import FakeCloud

PLACE = Place("local", "local-1")
ONE, TWO = ClusterUid("one"), ClusterUid("two")
A1 = "brokers-a-0.g1"


@dataclass
class CountedCloud(FakeCloud):
    """Counts its listings and the ids it is asked about."""

    listings: int = 0
    asked: list[str] = field(default_factory=list)

    def list_place(self, place: Place) -> Listing:
        self.listings += 1
        return FakeCloud.list_place(self, place)

    def describe(self, place: Place, instances: Sequence[str]) -> Mapping[str, InstanceState]:
        self.asked += instances
        return FakeCloud.describe(self, place, instances)


class Sky:
    """A cloud with two clusters in it, and the inventory on top."""

    def __init__(self) -> None:
        self.now = NOW
        self.cloud = CountedCloud(now=lambda: self.now)
        for uid in (ONE, TWO):
            self._create(uid)
        self.inventory = ListedInventory(lambda _name: self.cloud, lambda: self.now)

    def view(self, uid: ClusterUid = ONE) -> ClusterView:
        return a_view(*(an_instance(n, cloud_id=f"{uid}/{n}.g1") for n in NODES), uid=uid)

    def _create(self, uid: ClusterUid) -> None:
        requested = a_view(*(an_instance(n, 1, Phase.REQUESTED) for n in NODES), uid=uid)
        intent = IntentView(f"birth-{uid}", "surge", tuple(requested.instances), BEFORE)
        self.cloud.apply(
            terraform_run(requested, intent, installation_id="test", boot_data=lambda i: "", gone=frozenset())
        )


def test_a_cluster_sees_its_own_and_nothing_else() -> None:
    sky = Sky()
    seen = sky.inventory.seen(sky.view(ONE))
    assert sorted(seen.instances) == sorted(f"{n}.g1" for n in NODES)
    assert {i.cluster_uid for i in seen.instances.values()} == {ONE}
    assert {v.cluster_uid for v in seen.volumes.values()} == {ONE}
    assert sorted(seen.node_addresses) == sorted(NODES[3:])
    assert (seen.gone, seen.at) == (frozenset(), NOW)


def test_vms_are_told_by_the_clusters_in_their_tags_though_only_one_of_them_is_known() -> None:
    """No call more than a look at the known one makes; what is gone is nobody's."""
    sky = Sky()
    assert sky.inventory.by_tag() == ()
    sky.inventory.seen(sky.view(ONE))
    told = {t.uid: (t.place, t.name, len(t.ids)) for t in sky.inventory.by_tag()}
    assert told == {uid: ("local/default/local-1", "", len(NODES)) for uid in (ONE, TWO)}
    assert (sky.cloud.listings, sky.cloud.asked) == (1, [])


def test_one_listing_serves_all_clusters_of_a_place() -> None:
    sky = Sky()
    for uid in (ONE, TWO, ONE):
        sky.inventory.seen(sky.view(uid))
    assert (sky.cloud.listings, sky.cloud.asked) == (1, [])


def test_a_listing_is_read_again_when_it_is_old_or_not_new_enough() -> None:
    sky = Sky()
    sky.inventory.seen(sky.view())
    sky.now += timedelta(seconds=0.5)
    assert sky.inventory.seen(sky.view(), newer_than=NOW - timedelta(seconds=1)).at == NOW
    assert sky.inventory.seen(sky.view(), newer_than=NOW).at == sky.now
    sky.now += timedelta(seconds=5)
    assert sky.inventory.seen(sky.view()).at == sky.now
    assert sky.cloud.listings == 3


def test_who_is_at_rest_is_content_with_an_older_listing_than_who_works() -> None:
    sky = Sky()
    sky.inventory.seen(sky.view())
    sky.now += timedelta(seconds=1)
    sky.inventory.seen(sky.view())
    assert sky.cloud.listings == 1
    sky.inventory.seen(changed_view(sky.view(), recycling=1))
    assert sky.cloud.listings == 2


def test_a_vm_that_lost_its_power_is_gone_by_the_clouds_word() -> None:
    sky = Sky()
    sky.cloud.power_cut(PLACE, f"{ONE}/{A1}")
    seen = sky.inventory.seen(sky.view())
    assert seen.gone == {A1}
    assert A1 not in seen.instances
    assert sky.inventory.seen(sky.view(TWO)).gone == frozenset()


def test_a_vm_missing_from_the_list_is_asked_for_by_its_id() -> None:
    sky = Sky()
    sky.cloud.terminate(PLACE, f"{ONE}/{A1}")
    seen = sky.inventory.seen(sky.view())
    assert (seen.gone, sky.cloud.asked) == ({A1}, [f"{ONE}/{A1}"])


def test_a_vm_the_cloud_cannot_answer_for_is_unknown() -> None:
    sky = Sky()
    foreign = an_instance("brokers-a-0", 2, cloud_id="some-other-id")
    view = a_view(*sky.view().instances.values(), foreign, uid=ONE)
    seen = sky.inventory.seen(view)
    assert foreign.key not in seen.gone
    assert foreign.key not in seen.instances


def test_a_listing_that_lags_makes_nobody_gone() -> None:
    """A list that lost everything for a moment: the cloud, asked by id, says they run."""
    sky = Sky()
    sky.cloud.list_lag = 1
    seen = sky.inventory.seen(sky.view())
    assert (dict(seen.instances), seen.gone) == ({}, frozenset())
    assert len(sky.cloud.asked) == 6


def test_a_vm_without_an_id_is_not_asked_for() -> None:
    sky = Sky()
    requested = an_instance("brokers-a-0", 2, Phase.REQUESTED)
    sky.inventory.seen(a_view(*sky.view().instances.values(), requested, uid=ONE))
    assert sky.cloud.asked == []


def test_a_cloud_that_does_not_answer_is_waited_for_once_and_not_once_a_cluster() -> None:
    sky = Sky()
    sky.cloud.failures = [CloudUnavailable("timed out"), CloudUnavailable("timed out again")]
    for uid in (ONE, TWO, ONE):
        with pytest.raises(CloudUnavailable, match=r"timed out$"):
            sky.inventory.seen(sky.view(uid))
    assert sky.cloud.listings == 1
    sky.now += SILENCE
    with pytest.raises(CloudUnavailable, match="again"):
        sky.inventory.seen(sky.view())
    sky.now += SILENCE
    assert len(sky.inventory.seen(sky.view()).instances) == 6


def test_a_listing_that_is_not_permitted_is_asked_for_once_a_minute_and_says_since_when_it_is_let_in() -> None:
    sky = Sky()
    started = sky.now
    assert sky.inventory.seen(sky.view()).let_in_since == {str(PLACE): started}
    sky.cloud.failures = [NotPermitted("local: listing: no", "List")]
    sky.now += timedelta(seconds=10)
    for _ in range(6):
        with pytest.raises(NotPermitted):
            sky.inventory.seen(sky.view())
        sky.now += timedelta(seconds=9)
    assert sky.cloud.listings == 2
    sky.now += REFUSAL
    assert sky.inventory.seen(sky.view()).let_in_since == {str(PLACE): sky.now}


def test_a_cloud_that_was_away_has_let_us_in_all_the_same() -> None:
    sky = Sky()
    started = sky.now
    sky.inventory.seen(sky.view())
    sky.cloud.failures = [CloudUnavailable("timed out")]
    sky.now += timedelta(seconds=10)
    with pytest.raises(CloudUnavailable):
        sky.inventory.seen(sky.view())
    sky.now += SILENCE
    assert sky.inventory.seen(sky.view()).let_in_since == {str(PLACE): started}


def test_terminate_reaches_the_cloud() -> None:
    sky = Sky()
    sky.inventory.terminate(sky.view(), f"{ONE}/{A1}")
    assert sky.inventory.seen(sky.view(), newer_than=NOW - timedelta(hours=1)).gone == {A1}


def test_a_cluster_that_lives_nowhere_has_an_empty_inventory() -> None:
    sky = Sky()
    seen = sky.inventory.seen(a_view(document=None))
    assert (dict(seen.instances), seen.at, sky.cloud.listings) == ({}, NOW, 0)
    assert isinstance(seen.at, datetime)


class TwinSky(Sky):
    """One VM more carries the key of `A1`."""

    def __init__(self, twin_id: str) -> None:
        super().__init__()
        region = self.cloud.world.region(PLACE)
        first = region.vms[f"{ONE}/{A1}"]
        region.vms[twin_id] = replace(first, seen=replace(first.seen, id=twin_id))


def test_the_recorded_vm_is_the_instance_and_another_one_its_twin() -> None:
    seen = (sky := TwinSky("a-twin")).inventory.seen(sky.view())
    assert seen.instances[A1].id == f"{ONE}/{A1}"
    assert [t.id for t in seen.twins[A1]] == ["a-twin"]
    assert [c.id for c in seen.carrying(A1)] == [f"{ONE}/{A1}", "a-twin"]


def test_before_one_is_recorded_everybody_keeps_the_same_one() -> None:
    sky = TwinSky("zzz-twin")
    view = a_view(*(an_instance(n, cloud_id="") for n in NODES), uid=ONE)
    assert sky.inventory.seen(view).instances[A1].id == f"{ONE}/{A1}"
    assert TwinSky("a-twin").inventory.seen(view).instances[A1].id == "a-twin"


def test_a_twin_does_not_hide_that_the_vm_itself_is_gone() -> None:
    sky = TwinSky("a-twin")
    sky.cloud.terminate(PLACE, f"{ONE}/{A1}")
    seen = sky.inventory.seen(sky.view())
    assert A1 in seen.gone
    assert A1 not in seen.instances
    assert [t.id for t in seen.twins[A1]] == ["a-twin"]
