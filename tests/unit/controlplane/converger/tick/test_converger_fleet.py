"""One poisoned cluster never delays another (P9): several clusters on one converger, on fakes."""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from agent.wire import PreemptionReport
from controlplane.cluster.observed.agent_reports import keep_report
from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.observation import InventorySeen
from controlplane.converger.situation.ports import Ports
from controlplane.converger.tick.cluster_tick import new_events
from controlplane.converger.tick.fleet_brake import FleetBrake
from controlplane.converger.tick.loop import Converger
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.storage.lease import LostLeadership
from controlplane.storage.streams import FREEZES, cluster_stream
from events import facts
from events.codec import decode, encode
from events.envelope import NewEvent, Origin, Recorded
from events.errors import StoreUnavailable
from events.ids import ClusterUid, Epoch
from events.spec.conversion import to_data
from planner.observed import KafkaSnapshot
from providers.errors import CloudUnavailable
from tests.builders import NOW, a_document, a_report, a_snapshot, an_instance, an_inventory
from tests.fakes.event_store import MemoryEventStore
from tests.fakes.jobs import MemoryJobStore
from tests.fakes.latest_values import MemoryLatestStore
from tests.fakes.plans import MemoryPlanStore
from tests.sim.world import UID, World

GOOD, BAD, THIRD = ClusterUid("good"), ClusterUid("bad"), ClusterUid("third")
WAIT_S = 10.0


class FillingStore(MemoryEventStore):
    """Once `full` it takes nothing more, and still tells what it has."""

    full = False

    def append(self, *args: Any, **named: Any) -> list[Recorded]:
        if self.full:
            raise StoreUnavailable("the disk is full")
        return super().append(*args, **named)


class Fleet:
    """Copies of one converged cluster; `gateways`, `inventories` and `run_error` say what goes wrong in which."""

    def __init__(
        self, *uids: ClusterUid, workers: int = 0, rest_s: float = 0.0, brake: FleetBrake | None = None
    ) -> None:
        self.now = NOW
        self.store = FillingStore(clock=lambda: self.now)
        self.latest = MemoryLatestStore()
        self.dialled: list[str] = []
        self.looked: list[str] = []
        self.gateways: dict[str, Callable[[], KafkaSnapshot]] = {}
        self.inventories: dict[str, Callable[[], InventorySeen]] = {}
        self.leads = True
        self.woken: list[str] = []
        self.runs: list[str] = []
        self.run_error: Exception | None = None
        for uid in uids:
            self._born(uid)
        self.converger = Converger(self._ports(), brake, workers=workers, rest_s=rest_s, wake=self.woken.append)

    def next_server(self) -> None:
        """It remembers nothing, and reads what is recorded."""
        self.converger = Converger(self._ports())

    def declare(self, uid: ClusterUid) -> None:
        """A new generation: the cluster has work in hand."""
        view = self.converger.view(uid)
        assert view is not None
        document = to_data(a_document(version="4.2.0"))
        self._append(uid, view.version, [facts.ClusterDeclared(uid, uid, view.generation + 1, document, "t")])

    def freeze(self, fact: object) -> None:
        """Somebody declares a freeze, or ends one."""
        version = len(self.store.read_stream(FREEZES))
        event = encode(fact, f"freeze-{version}")
        self.store.append(FREEZES, [event], expected_version=version, origin=Origin("person:anna"))

    def damage(self, uid: ClusterUid) -> None:
        stream = cluster_stream(uid)
        version = len(self.store.read_stream(stream))
        broken = NewEvent(f"{uid}-damage", "cluster.teleported", 1, {})
        self.store.append(stream, [broken], expected_version=version, origin=Origin("t"))

    def tick(self, **only: Any) -> Any:
        self.looked.clear()
        return self.converger.tick(**only)

    def _born(self, uid: ClusterUid) -> None:
        self._append(
            uid, 0, [replace(f, uid=uid, name=uid) if isinstance(f, facts.ClusterDeclared) else f for f in BIRTH]
        )

    def _append(self, uid: ClusterUid, version: int, told: list[object]) -> None:
        stream = cluster_stream(uid)
        self.store.append(stream, new_events(stream, version, told), expected_version=version, origin=Origin("t"))

    def _ports(self) -> Ports:
        fleet = self

        class Inventory:
            def seen(self, view: ClusterView, *, newer_than: datetime | None = None) -> InventorySeen:
                fleet.looked.append(view.uid)
                return fleet.inventories.get(view.uid, lambda: an_inventory(view, at=fleet.now))()

            def terminate(self, view: ClusterView, cloud_id: str) -> None:
                raise AssertionError("nobody is to be terminated")

        class Gateway:
            def __init__(self, uid: str) -> None:
                self._uid = uid

            def snapshot(self) -> KafkaSnapshot:
                fleet.dialled.append(self._uid)
                return fleet.gateways.get(self._uid, lambda: a_snapshot(at=fleet.now))()

        def epoch() -> Epoch:
            if not self.leads:
                raise LostLeadership("another one leads")
            return Epoch(1)

        class Runner:
            def terraform(self, job_id: str, run: Any, *, epoch: Epoch) -> None:
                if fleet.run_error is not None:
                    raise fleet.run_error
                fleet.runs.append(job_id)

        runner: Any = Runner()
        gateway: Any = lambda view: Gateway(view.uid)  # noqa: E731
        return Ports(
            store=self.store,
            jobs=MemoryJobStore(),
            plans=MemoryPlanStore(),
            latest=self.latest,
            inventory=Inventory(),
            runner=runner,
            kafka=gateway,
            boot_data=lambda *_: "",
            installation_id="test",
            clock=lambda: self.now,
            epoch=epoch,
        )


def _birth() -> list[object]:
    world = World()
    world.declare(a_document())
    world.converge()
    assert not world.view().history.unreadable
    return [decode(e) for e in world.store.read_stream(cluster_stream(UID))]


BIRTH = _birth()


@pytest.fixture
def hung() -> Iterator[threading.Event]:
    """Set to let go what hangs; always set in the end, so that no thread stays."""
    event = threading.Event()
    yield event
    event.set()


def _raises(error: Exception) -> Callable[[], Any]:
    def call() -> Any:
        raise error.with_traceback(None)

    return call


def _said(fleet: Fleet, uid: ClusterUid) -> str:
    said = fleet.converger.said(uid)
    return said.sentence if said else ""


RESTS = "converged at generation 1: 6 VMs"


# --- what goes wrong in one stays in one ------------------------------------------------------------------------------


def test_all_at_rest_are_looked_at_and_nothing_is_done() -> None:
    fleet = Fleet(GOOD, BAD, THIRD)
    report = fleet.tick()
    assert (report.clusters, report.events, report.effects, report.failures) == (3, 0, 0, 0)
    assert {_said(fleet, u) for u in (GOOD, BAD, THIRD)} == {RESTS}


@pytest.mark.parametrize(
    "error",
    [
        KafkaUnavailable(what="reading", where="bad", why="no route"),
        ZeroDivisionError("a bug"),
        CloudUnavailable("no answer"),
    ],
    ids=lambda e: type(e).__name__,
)
def test_a_gateway_that_raises_leaves_the_others_alone(error: Exception) -> None:
    fleet = Fleet(BAD, GOOD)
    fleet.gateways[BAD] = _raises(error)
    report = fleet.tick()
    assert report.clusters == 2
    assert _said(fleet, GOOD) == RESTS


def test_an_unreadable_history_freezes_its_cluster_and_no_other() -> None:
    fleet = Fleet(BAD, GOOD)
    fleet.damage(BAD)
    fleet.tick()
    assert "history unreadable" in _said(fleet, BAD)
    assert "cluster.teleported" in _said(fleet, BAD)
    assert _said(fleet, GOOD) == RESTS


def test_an_inventory_that_breaks_backs_off_alone_and_comes_back() -> None:
    fleet = Fleet(BAD, GOOD)
    fleet.inventories[BAD] = _raises(ZeroDivisionError("a bug"))
    assert fleet.tick().failures == 1
    assert "failure 1 in a row, next look in 1 s" in _said(fleet, BAD)
    fleet.tick()
    assert fleet.looked == [GOOD]
    fleet.now += timedelta(seconds=1)
    fleet.tick()
    assert sorted(fleet.looked) == [BAD, GOOD]
    assert "failure 2 in a row, next look in 2 s" in _said(fleet, BAD)
    fleet.inventories.clear()
    fleet.now += timedelta(seconds=2)
    fleet.tick()
    assert _said(fleet, BAD) == RESTS


def test_a_cluster_that_fails_for_days_does_not_stop_the_fleet() -> None:
    """Once the back-off overflowed after 1024 failures, and the whole tick with it."""
    fleet = Fleet(BAD, GOOD)
    fleet.inventories[BAD] = _raises(StoreUnavailable("locked"))
    for _ in range(1100):
        fleet.now += timedelta(seconds=31)
        assert fleet.tick(only={BAD}).failures == 1
    fleet.tick()
    assert _said(fleet, GOOD) == RESTS


def test_an_unknown_inventory_is_no_failure_and_nothing_is_done() -> None:
    fleet = Fleet(BAD)
    fleet.inventories[BAD] = _raises(CloudUnavailable("no answer"))
    report = fleet.tick()
    assert (report.failures, report.events, report.effects) == (0, 0, 0)


# --- slow ports -------------------------------------------------------------------------------------------------------


def _hangs(event: threading.Event, at: datetime) -> Callable[[], KafkaSnapshot]:
    def call() -> KafkaSnapshot:
        assert event.wait(WAIT_S)
        return a_snapshot(at=at)

    return call


def test_brokers_that_hang_do_not_keep_clusters_at_rest_waiting(hung: threading.Event) -> None:
    fleet = Fleet(BAD, GOOD, workers=2)
    fleet.gateways[BAD] = _hangs(hung, fleet.now)
    fleet.tick()
    fleet.converger._busy[GOOD].result(WAIT_S)
    assert (_said(fleet, GOOD), _said(fleet, BAD)) == (RESTS, "")
    fleet.tick()
    assert fleet.dialled.count(BAD) == 1, "a cluster whose tick hangs is not ticked a second time beside it"
    hung.set()
    fleet.converger.settle(WAIT_S)
    assert _said(fleet, BAD) == RESTS
    fleet.converger.close()


def test_brokers_that_hang_at_rest_do_not_keep_work_waiting(hung: threading.Event) -> None:
    fleet = Fleet(BAD, GOOD, workers=1)
    fleet.gateways[BAD] = _hangs(hung, fleet.now)
    fleet.converger.catch_up()
    fleet.declare(GOOD)
    fleet.tick()
    report = fleet.converger._busy[GOOD].result(WAIT_S)
    assert report.clusters == 1
    assert _said(fleet, GOOD)
    assert _said(fleet, BAD) == ""
    hung.set()
    fleet.converger.settle(WAIT_S)
    fleet.converger.close()


def test_a_cluster_at_rest_is_dialled_once_a_minute() -> None:
    fleet = Fleet(GOOD)
    for _ in range(59):
        fleet.tick()
        fleet.now += timedelta(seconds=1)
    assert fleet.dialled == [GOOD]
    fleet.now += timedelta(seconds=1)
    fleet.tick()
    assert fleet.dialled == [GOOD, GOOD]


def test_clusters_that_are_left_alone_are_dialled_once_a_minute_each_at_a_second_of_its_own() -> None:
    fleet = Fleet(GOOD, BAD, rest_s=1.0)
    at: dict[str, list[int]] = {GOOD: [], BAD: []}
    for second in range(240):
        before = len(fleet.dialled)
        fleet.tick()
        for uid in fleet.dialled[before:]:
            at[uid].append(second)
        fleet.now += timedelta(seconds=1)
    for first, second, *later in at.values():
        assert (first, 0 < second <= 60) == (0, True), "the first look of a server is at once"
        assert later[:2] == [second + 60, second + 120]
    assert at[GOOD][1:] != at[BAD][1:]


def test_a_fleet_that_was_looked_at_in_one_tick_is_not_again() -> None:
    fleet = Fleet(*(ClusterUid(f"{n:032x}") for n in range(20)), rest_s=60.0)
    assert fleet.tick().clusters == 20
    found = []
    for _ in range(120):
        fleet.now += timedelta(seconds=1)
        found.append(fleet.tick().clusters)
    assert sum(found) == 40
    assert max(found) <= 4


# --- who is ticked ----------------------------------------------------------------------------------------------------


def test_only_the_named_clusters_are_ticked() -> None:
    fleet = Fleet(GOOD, BAD, THIRD)
    assert fleet.tick(only={BAD, "nobody"}).clusters == 1
    assert fleet.looked == [BAD]
    assert fleet.tick(only=()).clusters == 0


def test_a_tick_of_what_rang_knows_what_others_have_begun_since() -> None:
    """It goes through no other cluster, and still takes no place that another one has."""
    fleet = Fleet(GOOD, BAD, brake=FleetBrake(max_rolling=1))
    fleet.tick()
    good = fleet.converger.view(GOOD)
    assert good is not None
    assert fleet.converger.brake_on(good).startswith("0 of 1 clusters roll")
    fleet.declare(BAD)
    another = Converger(fleet._ports())
    for _ in range(3):
        another.tick()
    fleet.tick(only={GOOD})
    assert "1 clusters are rolling (bad)" in fleet.converger.brake_on(good)


def test_a_cluster_at_rest_is_left_alone_for_a_while() -> None:
    fleet = Fleet(GOOD, rest_s=5.0)
    assert fleet.tick().clusters == 1
    fleet.now += timedelta(seconds=4)
    assert fleet.tick().clusters == 0
    fleet.now += timedelta(seconds=1)
    assert fleet.tick().clusters == 1


def test_a_cluster_at_rest_whose_vm_is_taken_back_is_looked_at_when_it_rings() -> None:
    """Of half a minute it heard up to ten seconds late: its next round, and what agents had found read before."""
    fleet = Fleet(GOOD, rest_s=5.0)
    fleet.tick()
    told = PreemptionReport(kind="preempt", deadline=NOW + timedelta(seconds=30), since=NOW, words="preempted")
    instance = an_instance("brokers-a-0")
    report = a_report(instance).report.model_copy(update={"preemption": told, "seq": 9})
    assert fleet.tick(only={GOOD}).clusters == 0
    keep_report(fleet.latest, GOOD, instance.key, report, fleet.now)
    assert fleet.tick(only={BAD}).clusters == 0
    assert fleet.tick(only={GOOD}).clusters == 1
    view = fleet.converger.view(GOOD)
    assert view is not None
    assert instance.key in view.requests.to_replace


def test_a_declaration_wakes_a_cluster_at_rest_at_the_next_tick() -> None:
    fleet = Fleet(GOOD, rest_s=5.0)
    fleet.tick()
    fleet.declare(GOOD)
    report = fleet.tick()
    assert (report.failures, len(fleet.runs)) == (0, 1)
    assert GOOD in fleet.woken


def test_a_freeze_leaves_who_waits_for_it_alone_and_its_thaw_wakes_them_at_the_next_tick() -> None:
    fleet = Fleet(GOOD, rest_s=5.0)
    fleet.tick()
    fleet.freeze(facts.FreezeDeclared("freeze-1", NOW + timedelta(days=1), "winter sale", (), (), {}))
    fleet.declare(GOOD)
    assert (fleet.tick().failures, len(fleet.runs)) == (0, 0)
    said = fleet.converger.said(GOOD)
    assert said is not None
    assert said.sentence.startswith("frozen until 2026-01-02 12:00 UTC by anna: winter sale (to end it: kedge thaw")
    assert fleet.tick().clusters == 0
    fleet.freeze(facts.FreezeThawed("freeze-1", "over"))
    fleet.tick()
    assert len(fleet.runs) == 1


def test_whoever_does_not_lead_does_nothing_at_all() -> None:
    fleet = Fleet(GOOD)
    fleet.leads = False
    with pytest.raises(LostLeadership):
        fleet.tick()
    assert fleet.looked == []


def test_leadership_lost_between_looking_and_recording_records_nothing() -> None:
    fleet = Fleet(GOOD)
    fleet.converger.catch_up()
    fleet.declare(GOOD)
    fleet.converger.catch_up()
    head = fleet.store.head()
    fleet.leads = False
    with pytest.raises(LostLeadership):
        fleet.converger.tick_cluster(GOOD)
    assert fleet.store.head() == head


def test_what_somebody_declared_meanwhile_is_read_and_decided_anew() -> None:
    """A conflict is no failure of the cluster: no back-off."""
    fleet = Fleet(GOOD)
    fleet.converger.catch_up()
    fleet.declare(GOOD)
    fleet.converger.catch_up()
    fleet.declare(GOOD)
    assert fleet.converger.tick_cluster(GOOD).failures == 1
    assert fleet.tick().events > 0


def test_a_store_that_is_away_ends_the_tick_before_any_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet(GOOD)
    fleet.tick()
    monkeypatch.setattr(fleet.store, "read_all", lambda *_, **__: _raises(StoreUnavailable("locked"))())
    with pytest.raises(StoreUnavailable):
        fleet.tick()


# --- the brake --------------------------------------------------------------------------------------------------------

MANY = tuple(ClusterUid(f"cluster-{n}") for n in range(8))


def surges(fleet: Fleet) -> list[str]:
    return [e.stream for e in fleet.store.read_all(0) if e.type == "surge.requested" and "g2" in _keys(e.data)]


def _keys(data: Mapping[str, Any]) -> str:
    return ",".join(f"{i['node']}.g{i['generation']}" for i in data["instances"])


@pytest.mark.parametrize("workers", [0, 4])
def test_of_clusters_that_all_want_to_roll_only_as_many_surge_as_the_account_may(workers: int) -> None:
    fleet = Fleet(*MANY, workers=workers, brake=FleetBrake(max_surge_per_account=3))
    fleet.converger.catch_up()
    for uid in MANY:
        fleet.declare(uid)
    for _ in range(4):
        fleet.tick()
        fleet.converger.settle(WAIT_S)
    surging = surges(fleet)
    assert len(surging) == len(set(surging)) == 3
    waiting = [_said(fleet, uid) for uid in MANY if cluster_stream(uid) not in surging]
    assert all("3 of 3 surge VMs of account local/default are in use" in said for said in waiting)
    fleet.converger.close()


def test_a_cluster_whose_ticks_fail_keeps_its_place_in_the_queue_from_nobody() -> None:
    fleet = Fleet(GOOD, BAD, THIRD, brake=FleetBrake(max_surge_per_account=1))
    fleet.converger.catch_up()
    for uid in (GOOD, BAD, THIRD):
        fleet.declare(uid)
        fleet.tick(only={uid})
        fleet.now += timedelta(seconds=1)
    assert surges(fleet) == [cluster_stream(GOOD)]
    fleet.inventories[BAD] = _raises(ZeroDivisionError("a bug"))
    fleet.tick()
    third = fleet.converger.view(THIRD)
    assert third is not None
    assert "waits longer" not in _said(fleet, THIRD)
