"""A quorum of three becomes one of five, and three again, on real Kafka, while clients write and read."""

from datetime import datetime
from itertools import pairwise

import pytest

from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(400)]

SPEC = ClusterSpec(name="five", controllers=3, controller_zones=3, join_deadline_s=90)
GROWN = ClusterSpec(name="five", controllers=5, controller_zones=3, join_deadline_s=90)


def test_three_controllers_become_five_and_no_broker_is_restarted(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    known = cluster.voters()
    with traffic(cluster.bootstrap) as clients:
        cluster.declare(GROWN)
        settled(cluster)
    now = cluster.voters()
    assert len(now) == 5
    assert {i: now[i] for i in known} == known, "who was there votes from the directory it had"
    _one_after_the_other(cluster, before, "voter.add_requested", "voter.added")
    restarted = [e for e in cluster.events(before) if e.type == "restart.requested"]
    assert not restarted, "a list of three out of five names more than may fail at once"
    quorum = cluster.snapshot().quorum
    assert all(m.lag < 20 for m in quorum.members if m.is_voter)
    print(_told(cluster, before, clients.acknowledged))


def test_five_controllers_become_three_the_newest_leave(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    known = cluster.voters()
    assert len(known) == 5
    with traffic(cluster.bootstrap) as clients:
        cluster.declare(SPEC)
        settled(cluster)
    now = cluster.voters()
    assert len(now) == 3
    assert now.items() <= known.items()
    _one_after_the_other(cluster, before, "voter.remove_requested", "voter.removed")
    assert len([i for i in cluster.detail().instances if i.service == "controller"]) == 3
    print(_told(cluster, before, clients.acknowledged))


def _one_after_the_other(cluster: LivingCluster, before: int, asked: str, done: str) -> None:
    assert [e.type for e in cluster.events(before) if e.type.startswith("voter.")] == [asked, done] * 2


def _told(cluster: LivingCluster, before: int, acknowledged: int) -> str:
    """Seconds from the spec to each change of the voters and to its end, for the page of the quorum."""
    events = cluster.events(before)
    began = next(e.at for e in events if e.type == "cluster.declared")
    marks: list[tuple[str, datetime]] = [
        (e.type, e.at) for e in events if e.type.startswith("voter.") or e.type == "recycle.completed"
    ]
    votes = [at for kind, at in marks if kind.startswith("voter.")]
    changes = [round((b - a).total_seconds(), 1) for a, b in pairwise(votes)]
    told = ", ".join(f"{kind} {(at - began).total_seconds():.0f} s" for kind, at in marks)
    return f"{told}; between requests and outcomes {changes} s; {acknowledged} records acknowledged"
