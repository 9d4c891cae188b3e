"""The reconciler: what differs is changed, what is foreign is left, what failed is told and tried again."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from controlplane.background.dns.reconciler import READ_AGAIN, NameReconciler
from controlplane.background.dns.records import DNS_NAME
from controlplane.background.dns.settling import KeptZone
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from events.ids import ClusterUid
from providers.dns.zone import HeldName
from providers.errors import CloudUnavailable
from tests.builders import NOW, a_document, a_view, an_instance
from tests.fakes.dns import FakeZone
from tests.fakes.latest_values import MemoryLatestStore

ZONE = "kafka.example.com"
NAME = f"orders.{ZONE}"
OWNER = "installation=test cluster=c0ffee"
DOCUMENT = a_document(bootstrap=f"dns: {NAME}")


@dataclass
class Bench:
    """A reconciler with one zone and a fleet in hand."""

    fleet_views: list[ClusterView]
    zone: FakeZone = field(default_factory=lambda: FakeZone(ZONE))
    latest: MemoryLatestStore = field(default_factory=MemoryLatestStore)
    now: datetime = NOW
    leads: bool = True

    def __post_init__(self) -> None:
        self.reconciler = NameReconciler(
            [KeptZone(self.zone, 30)], self, self.latest, "test", lambda: self.now, may_act=lambda: self.leads
        )

    def views(self) -> list[ClusterView]:
        return self.fleet_views

    def look(self) -> None:
        self.zone.calls.clear()
        self.reconciler.poll()

    def told(self, name: str) -> dict[str, Any]:
        (found,) = [o for o in self.latest.of_kind(DNS_NAME) if o.subject.name == name]
        return dict(found.value)


@pytest.fixture
def bench() -> Bench:
    return Bench([a_view(document=DOCUMENT)])


def test_a_new_cluster_gets_its_names_with_their_owner_and_their_life(bench: Bench) -> None:
    bench.look()
    assert len(bench.zone.held) == 7
    assert bench.zone.held[f"brokers-a-0.{NAME}"] == HeldName(frozenset({"address-of-brokers-a-0.g1"}), 30, OWNER, 30)
    assert bench.told(f"brokers-a-0.{NAME}") == {"addresses": ["address-of-brokers-a-0.g1"], "problem": ""}


def test_what_is_as_it_should_be_is_neither_read_nor_written(bench: Bench) -> None:
    bench.look()
    bench.look()
    assert bench.zone.calls == []


def test_a_record_changed_by_hand_is_put_right_within_minutes(bench: Bench) -> None:
    bench.look()
    bench.zone.held[NAME] = replace(bench.zone.held[NAME], addresses=frozenset({"elsewhere"}))
    bench.now += READ_AGAIN
    bench.look()
    assert "elsewhere" not in bench.zone.held[NAME].addresses
    assert [c for c in bench.zone.calls if c.startswith("replace")] == [f"replace {NAME}"]


def test_a_replaced_node_changes_its_own_record_and_the_bootstrap_name_alone(bench: Bench) -> None:
    bench.look()
    gone = an_instance("brokers-a-0", 1, Phase.RETIRED)
    bench.fleet_views = [a_view(gone, an_instance("brokers-a-0", 2), document=DOCUMENT)]
    bench.look()
    assert [c for c in bench.zone.calls if c.startswith("replace")] == [
        f"replace {NAME}",
        f"replace brokers-a-0.{NAME}",
    ]


@pytest.mark.parametrize(
    ("held", "words"),
    [
        (HeldName(frozenset({"10.9.9.9"}), 300, ""), "records that Kedge did not make"),
        (HeldName(frozenset({"10.9.9.9"}), 30, "installation=other cluster=1"), "belongs to installation=other"),
        (HeldName(frozenset(), 0, "installation=test cluster=beef"), "belongs to installation=test cluster=beef"),
    ],
    ids=["a person's", "another installation's", "another cluster's"],
)
def test_a_name_that_is_not_ours_is_left_alone_and_told(bench: Bench, held: HeldName, words: str) -> None:
    bench.zone.held[NAME] = held
    bench.look()
    assert bench.zone.held[NAME] == held
    assert words in bench.told(NAME)["problem"]
    assert len(bench.zone.held) == 7, "the nodes' own names are kept all the same"


def test_the_second_cluster_that_wants_a_name_is_refused_and_gets_it_when_the_first_is_deleted(bench: Bench) -> None:
    bench.look()
    second = replace(a_view(document=DOCUMENT), uid=ClusterUid("beef"), name="orders-2")
    bench.fleet_views = [*bench.fleet_views, second]
    bench.look()
    assert bench.zone.held[NAME].owner == OWNER
    bench.fleet_views = [second, a_view(document=DOCUMENT, deleted=True)]
    bench.look()
    assert bench.zone.held[NAME].owner == "installation=test cluster=beef"


def test_a_name_the_spec_no_longer_has_is_taken_away(bench: Bench) -> None:
    bench.look()
    bench.fleet_views = [a_view(document=a_document(bootstrap=f"dns: o2.{ZONE}"))]
    bench.look()
    assert len(bench.zone.held) == 7
    assert all(name.endswith(f"o2.{ZONE}") for name in bench.zone.held)
    bench.fleet_views = [a_view()]
    bench.look()
    assert bench.zone.held == {}


def test_a_zone_that_does_not_answer_is_asked_once_a_look_and_again_at_the_next(bench: Bench) -> None:
    bench.zone.failures.append(CloudUnavailable("no answer"))
    bench.look()
    assert len(bench.zone.calls) == 1
    assert bench.told(NAME) == {"addresses": [], "problem": "no answer"}
    bench.look()
    assert len(bench.zone.held) == 7
    assert bench.told(NAME)["problem"] == ""


def test_who_does_not_lead_writes_nothing(bench: Bench) -> None:
    bench.leads = False
    bench.look()
    assert bench.zone.held == {}
    bench.leads = True
    bench.look()
    assert len(bench.zone.held) == 7


def test_a_name_in_no_zone_of_ours_is_a_persons(bench: Bench) -> None:
    bench.fleet_views = [a_view(document=a_document(bootstrap="dns: orders.example.org"))]
    bench.look()
    assert bench.zone.calls == []


def test_the_longest_zone_takes_a_name() -> None:
    wide, narrow = FakeZone("example.com"), FakeZone(ZONE)
    bench = Bench([a_view(document=DOCUMENT)], zone=narrow)
    bench.reconciler.zones = [KeptZone(wide, 30), KeptZone(narrow, 30)]
    bench.look()
    assert (len(wide.held), len(narrow.held)) == (0, 7)


def test_a_deleted_clusters_names_are_looked_for_once(bench: Bench) -> None:
    bench.look()
    bench.fleet_views = [a_view(document=DOCUMENT, deleted=True)]
    bench.look()
    assert bench.zone.held == {}
    bench.now += timedelta(days=1)
    bench.look()
    assert bench.zone.calls == []
