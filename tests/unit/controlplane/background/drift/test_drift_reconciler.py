"""Audits start when they are due, a few at once, never beside other work, and what they find is kept."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from controlplane.background.drift.reconciler import DriftPorts, DriftReconciler, audit_job_id
from controlplane.background.drift.schedule import TRY_AGAIN, is_due, share_of_period, turn_before
from controlplane.cluster.observed.cloud_drift import AuditNoted, ask_for_audit, audited_networks, kept_audits
from controlplane.cluster.observed.network_audits import NetworkAtRest
from controlplane.cluster.places import places_of
from controlplane.cluster.view import ClusterView
from events.ids import ClusterUid, Epoch, IntentId
from providers.audits import Audit, Drift
from providers.base import Place, Resources
from providers.networks import NetworkRun, NetworkRunKind
from tests.builders import BEFORE, NOW, a_view
from tests.changed_view import changed_view
from tests.fakes.jobs import MemoryJobStore
from tests.fakes.latest_values import MemoryLatestStore

DAY = timedelta(days=1)
DRIFT = {"address": "x.instance", "target": "instance/b-0.g1", "attribute": "size", "recorded": "1", "found": "2"}
FOUND = Drift(**DRIFT)


NETWORK = "network-1-default"


def a_network(view: ClusterView, *, at_rest: bool = True) -> NetworkAtRest:
    """The one that cluster is in."""
    (place,) = places_of(view)
    run = NetworkRun("", NetworkRunKind.MAKE, NETWORK, place, "inst", "10.64.0.0/20", {"a": 0})
    return NetworkAtRest(run, at_rest, BEFORE)


@dataclass
class Audits:
    """A reconciler on fakes; `started` are the clusters whose audit began."""

    views: list[ClusterView]
    now: datetime = NOW
    epoch: int = 1
    at_once: int = 2
    networks: list[NetworkAtRest] = field(default_factory=list)
    latest: MemoryLatestStore = field(default_factory=MemoryLatestStore)
    started: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.jobs = MemoryJobStore(lambda: self.now)
        self.reconciler = self.another()

    def another(self) -> DriftReconciler:
        """A server that begins with what is stored."""
        return DriftReconciler(
            DriftPorts(
                fleet=type("Fleet", (), {"views": lambda _: self.views})(),
                jobs=self.jobs,
                latest=self.latest,
                runner=type("Runner", (), {"audit": lambda _, job, audit, *, epoch: self._begin(job, audit, epoch)})(),
                existing=lambda view, place: Resources("inst", view.uid, view.name, place),
                clock=lambda: self.now,
                epoch=lambda: Epoch(self.epoch),
                networks=lambda: self.networks,
            ),
            every=DAY,
            at_once=self.at_once,
        )

    def _begin(self, job: str, audit: Audit, epoch: Epoch) -> None:
        uid = ClusterUid(audit.of)
        self.jobs.create(IntentId(job), cluster_uid=uid, kind="audit", epoch=epoch, owner="one")
        self.jobs.start(IntentId(job), epoch=epoch, owner="one")
        self.started.append(uid)

    def end(self, *drifts: dict[str, Any], error: str = "") -> None:
        for job in self.jobs.open_jobs():
            epoch = Epoch(self.epoch)
            if error:
                self.jobs.fail(job.intent_id, epoch=epoch, error_class="CloudUnavailable", error_message=error)
            else:
                self.jobs.succeed(job.intent_id, epoch=epoch, result={"resources": 7, "drifts": list(drifts)})

    def later(self, delta: timedelta) -> None:
        self.now += delta
        self.reconciler.poll()

    def kept(self, uid: str) -> AuditNoted:
        (noted,) = kept_audits(self.latest, ClusterUid(uid)).values()
        return noted


def fleet(count: int) -> list[ClusterView]:
    return [a_view(uid=ClusterUid(f"uid-{n}"), name=f"c-{n}") for n in range(count)]


def test_each_cluster_is_audited_once_a_day_at_its_own_time_and_a_few_at_once() -> None:
    world = Audits(fleet(40))
    most = 0
    for _ in range(24 * 4):
        world.later(timedelta(minutes=15))
        most = max(most, len(world.jobs.open_jobs()))
        world.end()
    assert sorted(world.started) == sorted(v.uid for v in world.views)
    assert most == 2
    hours = {int(share_of_period(v.uid, "local/default/local-1") * 24) for v in world.views}
    assert len(hours) > 12, "spread over the day"


def test_no_audit_runs_beside_work_of_its_cluster_and_none_of_a_cluster_that_rolls() -> None:
    (view,) = fleet(1)
    rolling = replace(view, generation=2)
    world = Audits([rolling])
    world.later(2 * DAY)
    assert world.started == [], "it rolls"
    world.views = [view]
    other = IntentId("a-run")
    world.jobs.create(other, cluster_uid=view.uid, kind="terraform-grow", epoch=Epoch(1), owner="one")
    world.reconciler.poll()
    assert world.started == [], "a run is in hand"
    world.jobs.start(other, epoch=Epoch(1), owner="one")
    world.jobs.succeed(other, epoch=Epoch(1), result={})
    world.reconciler.poll()
    assert world.started == [view.uid]


def test_what_was_found_is_kept_and_gone_when_the_next_audit_is_clean() -> None:
    (view,) = fleet(1)
    world = Audits([view])
    world.later(DAY)
    world.end(DRIFT)
    world.reconciler.poll()
    assert world.kept(view.uid) == AuditNoted(world.now, world.now, 7, (FOUND,))
    assert [n.drifts for n in world.reconciler.noted(view).values()] == [(FOUND,)]
    assert world.jobs.of_cluster(view.uid) == [], "rows of audits do not pile up"
    world.later(DAY)
    world.end()
    world.reconciler.poll()
    assert world.kept(view.uid).drifts == ()


def test_an_audit_that_told_nothing_leaves_what_is_known_and_is_tried_again() -> None:
    (view,) = fleet(1)
    world = Audits([view])
    world.later(DAY)
    world.end(DRIFT)
    world.later(DAY)
    world.end(error="no answer")
    world.reconciler.poll()
    assert (world.kept(view.uid).drifts, world.kept(view.uid).error) == ((FOUND,), "no answer")
    world.later(TRY_AGAIN - timedelta(seconds=1))
    assert len(world.started) == 2
    world.later(timedelta(seconds=1))
    assert len(world.started) == 3


def test_a_server_that_dies_in_the_middle_costs_an_audit_and_no_more() -> None:
    (view,) = fleet(1)
    world = Audits([view])
    world.later(DAY)
    (left,) = world.jobs.open_jobs()
    world.epoch = 2
    world.jobs.fail(left.intent_id, epoch=Epoch(2), error_class="RunInterrupted", error_message="server one is gone")
    world.reconciler = world.another()
    world.reconciler.poll()
    assert world.kept(view.uid).error == "server one is gone"
    world.later(TRY_AGAIN)
    world.end()
    world.reconciler.poll()
    assert (world.started, world.kept(view.uid).error) == ([view.uid, view.uid], "")


def test_who_leads_next_knows_what_was_found_before() -> None:
    (view,) = fleet(1)
    world = Audits([view])
    world.later(DAY)
    world.end(DRIFT)
    world.reconciler.poll()
    successor = world.another()
    assert successor.noted(view) == {}
    successor.poll()
    assert [n.drifts for n in successor.noted(view).values()] == [(FOUND,)]


def test_a_person_does_not_wait_for_the_clusters_turn() -> None:
    views = fleet(3)
    world = Audits(views, at_once=1)
    ask_for_audit(world.latest, views[2].uid, world.now)
    world.reconciler.poll()
    assert world.started == ["uid-2"]
    world.later(timedelta(seconds=10))
    world.end()
    world.reconciler.poll()
    assert world.started == ["uid-2"], "once is enough"


def test_a_deleted_cluster_is_not_audited() -> None:
    world = Audits([changed_view(view, deleted=True) for view in fleet(1)])
    world.later(2 * DAY)
    assert world.started == []


@pytest.mark.parametrize("uid", ["a", "b", "c"])
def test_a_turn_comes_once_in_each_period(uid: str) -> None:
    last = turn_before(uid, "p", NOW, DAY)
    assert last <= NOW < last + DAY
    assert turn_before(uid, "p", last, DAY) == last
    assert turn_before(uid, "p", last - timedelta(seconds=1), DAY) == last - DAY


def test_what_drifted_is_looked_at_again_after_the_cluster_was_worked_on() -> None:
    noted = AuditNoted(BEFORE, BEFORE, 7, (FOUND,))
    told: dict[str, Any] = {"now": NOW, "every": 1000 * DAY, "asked_at": None}
    assert not is_due("u", "p", noted, settled_at=BEFORE, **told)
    assert is_due("u", "p", noted, settled_at=BEFORE + timedelta(seconds=1), **told)


def test_a_state_has_one_row_however_often_it_is_audited() -> None:
    place = Place("aws", "eu-west-1")
    assert audit_job_id("u", str(place)) == audit_job_id("u", str(place)) != audit_job_id("v", str(place))


def test_a_network_is_audited_once_a_day_and_all_clusters_in_it_learn_what_was_found() -> None:
    views = fleet(2)
    world = Audits(views, networks=[a_network(views[0])], at_once=3)
    world.later(DAY)
    assert world.started[0] == NETWORK, "many share it, so it comes first"
    world.end(DRIFT)
    world.reconciler.poll()
    assert world.kept(NETWORK) == AuditNoted(world.now, world.now, 7, (FOUND,))
    (place,) = places_of(views[0])
    for view in views:
        assert audited_networks(view, world.reconciler.noted(view))[place].drifts == (FOUND,)
    assert audited_networks(a_view(document=None), world.reconciler.noted(views[0])) == {}
    world.later(DAY)
    world.end()
    world.reconciler.poll()
    assert world.kept(NETWORK).drifts == ()


def test_a_network_something_is_in_hand_of_is_not_audited() -> None:
    (view,) = fleet(1)
    world = Audits([view], networks=[a_network(view, at_rest=False)])
    world.later(2 * DAY)
    assert NETWORK not in world.started
    world.networks = [a_network(view)]
    world.reconciler.poll()
    assert NETWORK in world.started


def test_who_asks_for_a_cluster_asks_for_its_network_too() -> None:
    (view,) = fleet(1)
    world = Audits([view], networks=[a_network(view)])
    world.reconciler.poll()
    assert world.started == []
    ask_for_audit(world.latest, view.uid, world.now)
    world.reconciler.poll()
    assert sorted(world.started) == [NETWORK, view.uid]


def test_a_network_that_was_removed_says_nothing_any_more() -> None:
    (view,) = fleet(1)
    world = Audits([view], networks=[a_network(view)])
    world.later(DAY)
    world.end(DRIFT)
    world.reconciler.poll()
    world.networks = []
    world.reconciler.poll()
    assert audited_networks(view, world.reconciler.noted(view)) == {}
