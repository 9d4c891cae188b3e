"""Whoever founds a cluster knows the ranges of all others."""

from controlplane.cluster.producer_ids import first_producer_id
from controlplane.converger.tick.cluster_tick import new_events
from controlplane.storage.streams import cluster_stream
from events import facts
from events.envelope import Origin
from events.ids import ClusterUid
from tests.builders import a_document
from tests.sim.world import UID, World


def test_a_cluster_whose_range_another_has_is_founded_with_the_next_of_its_own() -> None:
    liked = first_producer_id(UID, frozenset())
    assert liked is not None
    world, other = World(), cluster_stream(ClusterUid("other"))
    founded = facts.QuorumFounded("other-kafka", "4.1", (), liked)
    world.store.append(other, new_events(other, 0, [founded]), expected_version=0, origin=Origin("t", epoch=1))
    world.declare(a_document())
    world.converge()
    founding = world.view().quorum.founding
    assert founding is not None
    assert founding.first_producer_id == first_producer_id(UID, {liked})
    assert founding.first_producer_id not in {None, liked}
