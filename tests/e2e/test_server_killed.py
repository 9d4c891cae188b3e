"""kill -9 of the server at the six riskiest places of a roll: the next one goes on, no second VM, no lost record."""

import pytest

from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400)]

SHARES_CLUSTER = True


def test_a_server_killed_around_the_birth_of_a_vm_makes_no_second_one(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    new = cluster.next_instance("one-a-0")
    with traffic(cluster.bootstrap):
        cluster.faults.set_vm("slow_create_s", {new: 3})
        before = cluster.roll("one")
        cluster.until(lambda: new in cluster.vms(), "the surge run to be at work", timeout_s=30, every_s=0.02)
        assert not [e for e in cluster.events(before) if e.type == "surge.completed"]
        cluster.restart_server()
        cluster.event("surge.completed", before)
        cluster.restart_server()
        cluster.event("replacement.completed", before)
        settled(cluster)


def test_a_server_killed_while_a_broker_leaves_takes_it_up_where_it_was(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    with traffic(cluster.bootstrap):
        before = cluster.roll_slowly("two")
        cluster.restart_server()
        cluster.event("instance.fenced", before)
        cluster.restart_server()
        cluster.event("replacement.completed", before)
        settled(cluster)


def test_a_server_killed_around_the_end_of_a_vm_records_it_once(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    with traffic(cluster.bootstrap):
        before = cluster.roll("three")
        retire = cluster.event("retire.requested", before).data["intent"]
        cluster.until(lambda: cluster.run_state(retire) == "running", "the retire run", timeout_s=30, every_s=0.02)
        cluster.restart_server()

        # The run ends, and the inventory that would turn that into an outcome does not answer.
        cluster.faults.set_counter("api_errors", 1_000_000)
        cluster.until(lambda: cluster.run_state(retire) == "succeeded", "the retire run to end", timeout_s=60)
        assert not [e for e in cluster.events(before) if e.type == "retire.completed"]
        cluster.server.kill()
        cluster.faults.clear()
        cluster.start_server()

        cluster.event("retire.completed", before)
        settled(cluster)
        assert len([e for e in cluster.events(before) if e.type == "replacement.completed"]) == 1
