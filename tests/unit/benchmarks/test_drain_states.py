"""The clusters figures are measured on: the same draw everywhere, with the counts others published for it."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks.drain import fleet, random_cluster
from benchmarks.drain.generator import Shape, cluster
from benchmarks.drain.java_random import doubles, first_int
from benchmarks.drain.random_cluster import FACTOR, Recipe
from benchmarks.drain.states import NAMES, state
from planner.drain.model.arrow import state_of
from planner.drain.model.state import BrokerState, ClusterState, Floats


def held_bytes(drawn: ClusterState) -> Floats:
    parts = drawn.partitions
    present = parts.replicas >= 0
    weights = np.repeat(parts.size_bytes, present.sum(axis=1))
    return np.bincount(parts.replicas[present], weights=weights, minlength=len(drawn.brokers)).astype(np.float64)


def test_first_numbers_are_those_java_gives() -> None:
    assert first_int([42, 0], 100).tolist() == [30, 60]
    assert first_int([42, 0], 1 << 30).tolist() == [781215565, 784870680]
    rejected_once = 1_500_000_000
    assert first_int([0, 1, 42], rejected_once).tolist() == [516548029, 215764588, 117392763]
    assert doubles(42, 2) == pytest.approx([0.7275636800328681, 0.6832234717598454], abs=0)


@pytest.mark.parametrize(
    ("name", "partitions", "brokers", "drained"),
    [
        ("c12", 971, 12, 1),
        ("c60", 19_727, 60, 4),
        ("c60x", 19_727, 60, 4),
        ("c300", 99_112, 300, 20),
        ("rf60", 19_727, 120, 60),
    ],
)
def test_generated_clusters_have_the_published_counts(name: str, partitions: int, brokers: int, drained: int) -> None:
    drawn = state(name)
    assert (len(drawn.partitions), len(drawn.brokers)) == (partitions, brokers)
    assert int(drawn.brokers.must_empty.sum()) == drained
    assert (drawn.disk_limit, drawn.flow_bytes_per_s) == (0.85, 70e6)


def test_generated_replicas_stand_in_three_racks_and_fill_disks_to_the_mean() -> None:
    drawn = state("c60")
    racks = np.sort(drawn.brokers.rack[drawn.partitions.replicas], axis=1)
    assert (racks == [0, 1, 2]).all()
    assert (held_bytes(drawn) / drawn.brokers.disk_bytes).mean() == pytest.approx(0.55, abs=1e-6)


@pytest.mark.parametrize(("name", "racks"), [("c60", {0}), ("c60x", {0, 1, 2}), ("c300", {0})])
def test_drained_brokers_stand_in_the_racks_the_name_means(name: str, racks: set[int]) -> None:
    brokers = state(name).brokers
    assert set(brokers.rack[brokers.must_empty].tolist()) == racks


def test_the_roll_has_a_new_broker_like_each_old_one_in_its_rack() -> None:
    brokers = state("rf60").brokers
    old, new = brokers.state == BrokerState.OUTGOING, brokers.state == BrokerState.NEW
    assert brokers.rack[old].tolist() == brokers.rack[new].tolist()
    assert np.array_equal(brokers.id[new], brokers.id[old] + 60)


def test_the_random_cluster_is_cruise_controls_replica_by_replica() -> None:
    drawn = random_cluster.cluster(Recipe())
    replicas = drawn.partitions.replicas
    count = np.bincount(replicas[replicas >= 0])
    assert (len(drawn.partitions), int(count.sum())) == (16_707, 50_081)
    assert count[:3].tolist() == [1391, 1338, 1285]
    assert (count.min(), count.max()) == (840, 1428)


def test_loads_drawn_per_replica_add_up_to_what_cruise_control_reports() -> None:
    recipe = Recipe()
    counts = np.append(random_cluster.partitions_per_topic(recipe) * FACTOR, 2 * recipe.brokers)
    weight = np.repeat(random_cluster.popularity(recipe), counts)
    for seed, total in ((random_cluster.DISK_SEED, 4_821_697), (random_cluster.IN_SEED, 4_768_436)):
        drawn = -np.log(1 - doubles(seed, int(counts.sum()))) * 100 * weight
        assert drawn.sum() == pytest.approx(total, abs=1)


def test_no_rack_of_the_random_cluster_holds_a_partition_twice() -> None:
    drawn = random_cluster.cluster(Recipe())
    full = drawn.partitions.replicas[drawn.partitions.replicas.min(axis=1) >= 0]
    racks = np.sort(drawn.brokers.rack[full], axis=1)
    assert (np.diff(racks, axis=1) > 0).all()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "c300"])
def test_a_state_is_the_same_every_time_and_another_with_another_seed(name: str) -> None:
    first, again, other = state(name), state(name), state(name, 1_000_003)
    assert np.array_equal(first.partitions.replicas, again.partitions.replicas)
    assert np.array_equal(first.partitions.size_bytes, again.partitions.size_bytes)
    assert not np.array_equal(first.partitions.size_bytes[:100], other.partitions.size_bytes[:100])


def test_an_unknown_state_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(ValueError, match="c12, c60"):
        state("c61")


def test_exact_shapes_keep_every_partition() -> None:
    assert len(cluster(Shape(brokers=13, topics=70, partitions=1_234, exact=True), seed=1).partitions) == 1_234


def test_a_fleet_is_read_back_as_it_was_drawn(tmp_path: Path) -> None:
    shape = Shape(brokers=7, topics=5, partitions=50, exact=True)
    assert fleet.write(tmp_path, 2, shape) == 100
    for name, drawn in fleet.clusters(2, shape):
        tables = (pq.read_table(tmp_path / kind / f"{name}.parquet") for kind in ("brokers", "partitions"))
        read = state_of(*tables)
        assert np.array_equal(read.partitions.replicas, drawn.partitions.replicas)
        assert read.brokers.state.tolist() == drawn.brokers.state.tolist()
        assert read.disk_limit == drawn.disk_limit
    assert drawn.brokers.must_empty.nonzero()[0].tolist() == [1]
