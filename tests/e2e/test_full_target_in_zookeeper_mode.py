"""The disk of a target is full while it catches up, on real brokers in ZooKeeper mode."""

import os

import pytest

from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.full_target import a_target_fills_up_while_it_catches_up
from tests.e2e.living_cluster import LivingCluster

pytestmark = [
    pytest.mark.soak,
    pytest.mark.kafka,
    pytest.mark.timeout(580),
    pytest.mark.skipif(os.geteuid() != 0, reason="disks of their own size need root"),
]

SPEC = ClusterSpec(name="brimmed", version="3.9.1", quorum="zookeeper", join_deadline_s=180)
SERVER_SETTINGS = {"KEDGE_CLOUDS__ENFORCE_DISK": "1"}


def test_a_target_whose_disk_is_full_is_told_nothing_goes_and_the_drain_ends_once_there_is_room(
    living_cluster: LivingCluster,
) -> None:
    a_target_fills_up_while_it_catches_up(living_cluster)
