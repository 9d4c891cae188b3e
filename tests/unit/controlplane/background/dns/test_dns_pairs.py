"""The name of a pair: it follows the events of the pair, and a failover waits for what is seen of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from controlplane.background.dns.reconciler import READ_AGAIN, NameReconciler
from controlplane.background.dns.settling import KeptZone
from controlplane.background.dns.wanted import PairWanted, wanted_of_pair
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.fleet.failovers.fold import after
from controlplane.fleet.failovers.pair_name import names_seen, pair_name_row
from controlplane.fleet.failovers.seen import NamesSeen
from controlplane.fleet.failovers.state import PairsView, RegisteredPair
from controlplane.fleet.failovers.view import PairDeclaration, PairView
from events import failover_facts as facts
from events.ids import ClusterUid
from events.spec.failover_model import KafkaFailoverDocument
from providers.dns.zone import HeldName
from providers.errors import CloudUnavailable
from tests.builders import NOW, a_document, a_view, an_instance
from tests.fakes.dns import FakeZone
from tests.fakes.latest_values import MemoryLatestStore
from tests.unit.controlplane.failover_samples import ABORTED, PLANNED

ZONE = "kafka.example.com"
NAME = f"both.{ZONE}"
OWNER = "installation=test failover=p1"


def at(cluster: str, generation: int = 1) -> frozenset[str]:
    return frozenset(f"{cluster}-{rack}.g{generation}" for rack in "abc")


def a_cluster(uid: str, generation: int = 1, *, dns: str = "", deleted: bool = False) -> ClusterView:
    brokers = [replace(an_instance(f"brokers-{rack}-0", 1), address=f"{uid}-{rack}.g{generation}") for rack in "abc"]
    document = a_document(bootstrap=f"dns: {dns}") if dns else a_document()
    return a_view(*brokers, uid=ClusterUid(uid), name=uid, document=document, deleted=deleted)


def without_brokers(uid: str) -> ClusterView:
    coming = [an_instance(f"brokers-{rack}-0", 1, Phase.REQUESTED) for rack in "abc"]
    return a_view(*coming, uid=ClusterUid(uid), name=uid)


def declared(dns: str = NAME, ttl: int = 5) -> PairDeclaration:
    document = KafkaFailoverDocument.model_validate(
        {
            "metadata": {"name": "orders"},
            "spec": {
                "clusters": ["eu", "us"],
                "bootstrap": {"dns": dns, "ttl": ttl},
                "mode": "cold",
                "standby": {"size": 3},
            },
        }
    )
    return PairDeclaration(document, 1, "anna", NOW, "api", "", "")


def a_pair(story: Sequence[object] = PLANNED[:1], uid: str = "p1", dns: str = NAME, ttl: int = 5) -> RegisteredPair:
    view = PairView(uid=uid, declaration=declared(dns, ttl))
    for fact in story:
        view = after(view, fact)
    return RegisteredPair(uid, view.name, ("eu", "us"), view)


COLD = (facts.FailoverDeclared("orders", "eu", "us", "cold"), PLANNED[1], PLANNED[3])
FLIPPED = a_pair(PLANNED[:7])
"""A flip to `us` is requested."""
TAKEN_BACK = facts.FailoverAbortRequested("f1", 2, "second thoughts")
BACK = a_pair((*PLANNED[:7], TAKEN_BACK, ABORTED[2]))
"""And taken back."""
WITHDRAWN = a_pair((*COLD, facts.PairWithdrawn("given up")))


@dataclass
class Bench:
    """A reconciler with one zone, two clusters and a pair in hand."""

    pairs: list[RegisteredPair] = field(default_factory=lambda: [a_pair()])
    fleet: list[ClusterView] = field(default_factory=lambda: [a_cluster("eu"), a_cluster("us")])
    zone: FakeZone = field(default_factory=lambda: FakeZone(ZONE))
    latest: MemoryLatestStore = field(default_factory=MemoryLatestStore)
    now: datetime = NOW
    leads: bool = True

    def __post_init__(self) -> None:
        self.starts()

    def starts(self) -> None:
        """As another process would."""
        self.reconciler = NameReconciler(
            [KeptZone(self.zone, 30)],
            self,
            self.latest,
            "test",
            lambda: self.now,
            may_act=lambda: self.leads,
            pairs=lambda: PairsView(by_uid={pair.uid: pair for pair in self.pairs}),
        )

    def views(self) -> list[ClusterView]:
        return self.fleet

    def look(self, after_s: float = 0) -> NamesSeen | None:
        self.now += timedelta(seconds=after_s)
        self.zone.calls.clear()
        self.reconciler.poll()
        return self.seen()

    def seen(self, after_s: float = 0) -> NamesSeen | None:
        self.now += timedelta(seconds=after_s)
        return names_seen(self.latest, self.pairs[0].view, self.now)

    def problem(self) -> str:
        row = pair_name_row(self.latest, "p1")
        assert row is not None
        return row.problem

    def flips(self, pair: RegisteredPair = FLIPPED) -> None:
        self.pairs = [pair]


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def rested(bench: Bench) -> Bench:
    """Its name has led to `eu` for long."""
    bench.look()
    bench.look(after_s=120)
    return bench


# --- what is wanted ------------------------------------------------------------------------------------------------


def wanted(pair: RegisteredPair, *fleet: ClusterView) -> PairWanted | None:
    return wanted_of_pair(pair.view, {str(view.uid): view for view in fleet})


def test_a_pairs_name_is_at_the_brokers_of_the_cluster_it_leads_to() -> None:
    fleet = (a_cluster("eu"), a_cluster("us"))
    assert wanted(a_pair(ttl=7), *fleet) == PairWanted(NAME, at("eu"), 7)
    assert wanted(FLIPPED, *fleet) == PairWanted(NAME, at("us"), 5)
    assert wanted(BACK, *fleet) == PairWanted(NAME, at("eu"), 5)


@pytest.mark.parametrize(
    ("pair", "fleet"),
    [
        (a_pair(), (without_brokers("eu"), a_cluster("us"))),
        (a_pair(), (a_cluster("us"),)),
        (replace(a_pair(), view=replace(a_pair().view, unreadable="event 7")), (a_cluster("eu"),)),
        (replace(a_pair(), view=replace(a_pair().view, declaration=None)), (a_cluster("eu"),)),
        (RegisteredPair("p1", "orders", ("eu", "us"), PairView(uid="p1")), (a_cluster("eu"),)),
        (a_pair(), (a_cluster("eu", deleted=True),)),
    ],
    ids=["no broker serves", "unknown cluster", "unreadable", "no document", "only registered", "deleted under it"],
)
def test_what_a_name_says_stays(pair: RegisteredPair, fleet: tuple[ClusterView, ...]) -> None:
    assert wanted(pair, *fleet) is None


def test_the_name_of_a_withdrawn_pair_leads_on_and_goes_with_its_cluster() -> None:
    assert wanted(WITHDRAWN, a_cluster("eu", 2)) == PairWanted(NAME, at("eu", 2), 5)
    assert wanted(WITHDRAWN, a_cluster("eu", deleted=True)) == PairWanted(NAME, frozenset(), 5)


# --- in the zone ---------------------------------------------------------------------------------------------------


def test_a_pair_gets_its_name_with_its_owner_and_its_own_life(bench: Bench) -> None:
    bench.look()
    assert bench.zone.held == {NAME: HeldName(at("eu"), 5, OWNER, 5)}


def test_a_name_at_rest_is_read_every_ten_minutes_and_at_every_look_while_an_order_is_in_hand(rested: Bench) -> None:
    rested.look(after_s=10)
    assert rested.zone.calls == []
    rested.zone.held[NAME] = replace(rested.zone.held[NAME], addresses=frozenset({"elsewhere"}))
    rested.look(after_s=READ_AGAIN.total_seconds())
    assert rested.zone.held[NAME].addresses == at("eu")
    rested.flips(a_pair(PLANNED[:5]))
    for _ in range(3):
        rested.look(after_s=10)
        assert rested.zone.calls == [f"read {NAME}", f"everywhere {NAME}"]


def test_brokers_that_are_replaced_are_followed(rested: Bench) -> None:
    rested.fleet[0] = a_cluster("eu", 2)
    rested.look()
    assert rested.zone.held[NAME].addresses == at("eu", 2)


def test_a_name_that_is_not_the_pairs_is_left_alone_and_told(bench: Bench) -> None:
    bench.zone.held[NAME] = HeldName(frozenset({"10.9.9.9"}), 300, "")
    bench.flips()
    assert bench.look() is None
    assert bench.zone.held[NAME].addresses == {"10.9.9.9"}
    assert "records that Kedge did not make" in bench.problem()


@pytest.mark.parametrize("zones", [[], [KeptZone(FakeZone("kafka.example.org"), 30)]], ids=["none", "another"])
def test_a_name_in_no_zone_of_ours_is_told_and_no_failover_goes_on_behind_it(
    bench: Bench, zones: list[KeptZone]
) -> None:
    bench.reconciler.zones = zones
    bench.flips()
    assert bench.look() is None
    assert f"{NAME} is in no zone of the settings" in bench.problem()


def test_a_withdrawn_pairs_name_follows_its_cluster_and_is_taken_by_nobody(rested: Bench) -> None:
    rested.pairs, rested.fleet[0] = [WITHDRAWN], a_cluster("eu", 2)
    assert rested.look() is None, "nothing waits for it any more"
    assert rested.zone.held[NAME].addresses == at("eu", 2)
    del rested.zone.held[NAME]
    rested.look(after_s=READ_AGAIN.total_seconds())
    assert rested.zone.held == {}, "a person took it away: it is not made anew"


def test_a_withdrawn_pairs_name_goes_with_the_cluster_it_led_to(rested: Bench) -> None:
    rested.pairs, rested.fleet = [WITHDRAWN], [a_cluster("eu", deleted=True), a_cluster("us")]
    rested.look()
    assert rested.zone.held == {}


@pytest.mark.parametrize("holder", ["pair", "cluster"])
def test_who_wants_a_withdrawn_pairs_name_takes_it_over_in_one_change(rested: Bench, holder: str) -> None:
    if holder == "pair":
        rested.pairs = [WITHDRAWN, a_pair(uid="p2")]
        owner = "installation=test failover=p2"
    else:
        rested.pairs = [WITHDRAWN]
        rested.fleet.append(a_cluster("third", dns=NAME))
        owner = "installation=test cluster=third"
    rested.look()
    assert rested.zone.held[NAME].owner == owner
    assert rested.zone.calls.count(f"replace {NAME}") == 1, "no look-up in between finds nothing"
    rested.look(after_s=READ_AGAIN.total_seconds())
    assert rested.zone.held[NAME].owner == owner, "the withdrawn one does not take it back"


def test_a_living_pairs_name_is_taken_by_no_cluster(rested: Bench) -> None:
    rested.fleet.append(a_cluster("third", dns=NAME))
    rested.look()
    assert rested.zone.held[NAME].owner == OWNER


# --- what a failover is told ---------------------------------------------------------------------------------------


def test_a_flip_is_seen_when_it_is_read_back_and_settled_when_answers_of_before_are_over(rested: Bench) -> None:
    rested.flips()
    assert rested.seen() is None, "nobody has looked since it was requested"
    assert rested.look() == NamesSeen("us", is_settled=False)
    assert rested.zone.held[NAME].addresses == at("us")
    assert rested.seen(after_s=4.9) == NamesSeen("us", is_settled=False)
    assert rested.seen(after_s=0.1) == NamesSeen("us", is_settled=True)


def test_answers_of_before_are_over_after_the_life_they_had_and_not_after_that_of_the_new_ones() -> None:
    bench = Bench([a_pair(ttl=60)])
    bench.look()
    bench.look(after_s=120)
    bench.flips(a_pair(PLANNED[:7], ttl=5))
    bench.look()
    assert [bench.look(after_s=s) for s in (30, 29)] == [NamesSeen("us", is_settled=False)] * 2
    assert bench.look(after_s=1) == NamesSeen("us", is_settled=True)


def test_while_another_server_of_the_zone_lags_the_old_answers_go_on_living(rested: Bench) -> None:
    rested.zone.lags = True
    rested.flips()
    assert [rested.look(after_s=s) for s in (0, 10, 10)] == [NamesSeen("", is_settled=False)] * 3
    rested.zone.lags = False
    assert rested.look(after_s=10) == NamesSeen("us", is_settled=False), "it may have told them until just now"
    assert rested.look(after_s=5) == NamesSeen("us", is_settled=True)


def test_a_look_that_failed_makes_it_unknown(rested: Bench) -> None:
    rested.flips()
    rested.look()
    assert rested.look(after_s=5) == NamesSeen("us", is_settled=True)
    rested.zone.failures.append(CloudUnavailable("no answer"))
    assert rested.look(after_s=1) is None
    assert rested.look(after_s=1) == NamesSeen("us", is_settled=True)


def test_a_zone_that_failed_for_another_name_makes_it_unknown_too(rested: Bench) -> None:
    rested.flips()
    rested.look()
    rested.fleet[1] = a_cluster("us", dns=f"us.{ZONE}")
    rested.zone.failures.append(CloudUnavailable("no answer"))
    assert rested.look(after_s=5) is None


def test_a_look_of_long_ago_or_of_a_clock_that_is_ahead_says_nothing(rested: Bench) -> None:
    rested.flips()
    rested.look()
    assert rested.seen(after_s=30) is not None
    assert rested.seen(after_s=0.1) is None
    assert rested.seen(after_s=-31) is None


def test_an_abort_does_not_believe_what_was_seen_before_the_flip(bench: Bench) -> None:
    bench.look()
    bench.flips(BACK)
    assert bench.seen() is None
    assert bench.look(after_s=60) == NamesSeen("eu", is_settled=True)


def test_a_server_that_dies_behind_its_change_leaves_no_row_that_tells_the_old_answer(rested: Bench) -> None:
    rested.look(after_s=READ_AGAIN.total_seconds())
    rested.flips()

    class Dies(FakeZone):
        def replace(self, name: str, before: HeldName, after: HeldName) -> None:
            super().replace(name, before, after)
            raise KeyboardInterrupt

    rested.reconciler.zones = [KeptZone(Dies(ZONE, rested.zone.held), 30)]
    with pytest.raises(KeyboardInterrupt):
        rested.look()
    assert rested.seen() == NamesSeen("", is_settled=False)
    rested.starts()
    assert rested.look(after_s=20) == NamesSeen("us", is_settled=False)
    assert rested.look(after_s=5) == NamesSeen("us", is_settled=True)


def test_where_rows_were_lost_answers_of_before_live_as_long_as_they_may_at_all(rested: Bench) -> None:
    rested.flips()
    rested.look()
    rested.latest = MemoryLatestStore()
    rested.starts()
    assert rested.look() == NamesSeen("us", is_settled=False)
    assert rested.look(after_s=59) == NamesSeen("us", is_settled=False)
    assert rested.look(after_s=1) == NamesSeen("us", is_settled=True)


def test_another_process_reads_the_same(rested: Bench) -> None:
    rested.flips()
    rested.look()
    rested.starts()
    assert rested.look(after_s=5) == NamesSeen("us", is_settled=True)


def test_who_does_not_lead_neither_writes_nor_asks(rested: Bench) -> None:
    rested.leads = False
    rested.flips()
    assert rested.look() is None
    assert rested.zone.held[NAME].addresses == at("eu")


def test_a_withdrawn_pair_and_one_that_cannot_be_read_are_told_nothing(rested: Bench) -> None:
    rested.flips()
    rested.look()
    view = rested.pairs[0].view
    for odd in (replace(view, is_withdrawn=True), replace(view, unreadable="event 7")):
        assert names_seen(rested.latest, odd, rested.now) is None
