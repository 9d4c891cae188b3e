"""Heartbeats through a roll of real brokers in ZooKeeper mode."""

import pytest

from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.heartbeats import nobody_is_silent_in_a_roll_of_all
from tests.e2e.living_cluster import LivingCluster

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(470)]

SPEC = ClusterSpec(name="kept-beating", version="3.8.1", quorum="zookeeper", heartbeats=True, join_deadline_s=120)


def test_nobody_is_silent_in_a_roll_of_all_and_each_new_broker_is_heard(living_cluster: LivingCluster) -> None:
    nobody_is_silent_in_a_roll_of_all(living_cluster, within_s=300)
