"""The agent with real Kafka: a controller VM and a broker VM, driven by documents alone."""

import os
import signal
from collections.abc import Iterator

import httpx
import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from tests.agent.small_cluster import BROKER, CONTROLLER, Cluster, serving
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with serving(Cluster(tmp_path_factory.mktemp("vms"))) as cluster:
        yield cluster


def test_a_cluster_starts_from_its_documents(cluster: Cluster) -> None:
    controller = cluster.server.wait_for_service(
        cluster.controller.instance, "controller", lambda s: s.state == "running"
    )
    broker = cluster.server.wait_for_service(
        cluster.broker.instance, "broker", lambda s: s.state == "running" and "partitions" in s.metrics
    )
    assert (controller.node_id, controller.kafka_version) == (100, "4.1.1")
    assert broker.metrics["broker_state"] == 3
    assert broker.metrics["under_replicated_partitions"] == 0
    assert broker.metrics["heap_used_bytes"] > 1_000_000
    assert [d.name for d in broker.log_dirs] == ["data"]
    assert broker.log_dirs[0].total_bytes > broker.log_dirs[0].free_bytes > 0
    last = cluster.server.reports[cluster.broker.instance][-1]
    assert last.attachments == ("brokers-0.data.v1",)
    assert last.addresses == (BROKER,)
    assert oct((cluster.broker.root / "agent" / "credential").stat().st_mode & 0o777) == "0o600"


def test_a_topic_without_its_own_min_isr_gets_two(cluster: Cluster) -> None:
    admin = AdminClient({"bootstrap.servers": f"{BROKER}:9092", "log_level": 0})
    admin.create_topics([NewTopic("plain", num_partitions=2, replication_factor=1)])["plain"].result(20)
    until(lambda: _min_isr(admin, "plain") is not None, timeout_s=20)  # the broker hears of the topic a little later
    assert _min_isr(admin, "plain") == "2"
    after = cluster.server.count(cluster.broker.instance)
    seen = cluster.server.wait_for_service(
        cluster.broker.instance, "broker", lambda s: any(d.partitions == 2 for d in s.log_dirs), after=after
    )
    assert seen.log_dirs[0].partitions == 2


@pytest.mark.parametrize(
    "request_",
    [
        {"type": "exec", "mbean": "java.lang:type=Memory", "operation": "gc"},
        {"type": "write", "mbean": "java.lang:type=Memory", "attribute": "Verbose", "value": True},
    ],
)
def test_the_metrics_port_refuses_to_do_anything(cluster: Cluster, request_: dict[str, object]) -> None:
    answer = httpx.post(f"http://{BROKER}:8778/jolokia/", json=request_, trust_env=False).json()
    assert answer["status"] == 403, answer


def test_the_metrics_port_reads(cluster: Cluster) -> None:
    read = {"type": "read", "mbean": "java.lang:type=Memory", "attribute": "Verbose"}
    assert httpx.post(f"http://{CONTROLLER}:8779/jolokia/", json=read, trust_env=False).json()["status"] == 200


def test_kafka_outlives_its_agent_and_the_next_one_adopts_it(cluster: Cluster) -> None:
    before = cluster.broker_running("b-1", after=cluster.server.count(cluster.broker.instance))
    last_seq = cluster.server.reports[cluster.broker.instance][-1].seq
    boot_id = cluster.server.reports[cluster.broker.instance][-1].boot_id
    killed = cluster.broker.kill_agent()
    until(lambda: cluster.broker.agent_pid not in (None, killed), timeout_s=15)
    after = cluster.server.count(cluster.broker.instance)
    adopted = cluster.broker_running("b-1", after=after)
    assert adopted.pid == before.pid
    assert cluster.broker.parent_of(adopted.pid) == cluster.broker.init_pid, "an orphan belongs to the VM's init"
    report = cluster.server.reports[cluster.broker.instance][after]
    assert (report.boot_id, report.seq) > (boot_id, last_seq)
    assert report.boot_id == boot_id


def test_a_killed_broker_is_reported_failed_counted_and_started_again(cluster: Cluster) -> None:
    after = cluster.server.count(cluster.broker.instance)
    before = cluster.broker_running("b-1", after=after)
    os.kill(before.pid, signal.SIGKILL)
    failed = cluster.server.wait_for_service(
        cluster.broker.instance, "broker", lambda s: s.state == "failed", after=after
    )
    assert "exited unexpectedly" in failed.message
    again = cluster.server.wait_for_service(
        cluster.broker.instance, "broker", lambda s: s.state == "running" and s.pid not in (0, before.pid), after=after
    )
    assert again.metrics["unexpected_exits"] == 1
    assert again.start_id == "b-1"


def test_a_new_start_id_is_a_restart(cluster: Cluster) -> None:
    after = cluster.server.count(cluster.broker.instance)
    before = cluster.broker_running("b-1", after=after)
    cluster.serve_broker("b-2")
    stopping = cluster.server.wait_for_service(
        cluster.broker.instance, "broker", lambda s: s.state == "stopping", after=after
    )
    assert stopping.start_id == "b-1"
    assert cluster.broker_running("b-2", after=after).pid != before.pid


def test_a_vm_that_reboots_without_the_control_plane_starts_its_broker(cluster: Cluster) -> None:
    cluster.broker_running("b-2", after=cluster.server.count(cluster.broker.instance))
    assert cluster.broker.press_power_button() == 0
    assert cluster.broker.members() == []
    assert cluster.broker.record("broker")["ended"][-1]["start_id"] == "b-1", "a shut-down records no end"
    cluster.server.is_down = True
    after = cluster.server.count(cluster.broker.instance)
    cluster.broker.boot()
    until(lambda: _is_broker_up(), timeout_s=30)
    cluster.server.is_down = False
    running = cluster.broker_running("b-2", after=after)
    assert running.metrics["unexpected_exits"] == 1, "a reboot is not a crash"


def test_a_stopped_broker_never_starts_again_under_its_start_id(cluster: Cluster) -> None:
    after = cluster.server.count(cluster.broker.instance)
    cluster.broker_running("b-2", after=after)
    cluster.serve_broker("b-2", state="stopped")
    stopped = cluster.server.wait_for_service(
        cluster.broker.instance, "broker", lambda s: s.state == "stopped", after=after
    )
    assert stopped.exit_code == 143
    assert cluster.broker.record("broker")["ended"][-1]["start_id"] == "b-2"
    assert stopped.log_dirs[0].partitions == 2, "the log directories are still looked at"
    cluster.broker.cut_power()
    cluster.serve_broker("b-2")  # somebody wants it back, without a new start_id
    after = cluster.server.count(cluster.broker.instance)
    cluster.broker.boot()
    refused = cluster.server.wait_for_service(
        cluster.broker.instance, "broker", lambda s: s.state == "stopped" and "new start_id" in s.message, after=after
    )
    assert refused.pid == 0
    assert not _is_broker_up()


def test_a_controllers_volume_and_address_pass_to_its_next_instance(cluster: Cluster) -> None:
    old = cluster.controller
    after = cluster.server.count(old.instance)
    cluster.serve_controller("c-1", state="stopped")
    cluster.server.wait_for_service(old.instance, "controller", lambda s: s.state == "stopped", after=after)
    new = cluster.vm("controllers-0", generation=2)
    cluster.serve_controller("c-2", generation=2, fresh=False)
    cluster.controller = new
    new.boot()
    try:
        waiting = cluster.server.wait_for_service(new.instance, "controller", lambda s: s.state == "waiting")
        assert "controllers-0.metadata.v1" in waiting.message
        old.detach("controllers-0.metadata.v1")
        new.attach("controllers-0.metadata.v1", cluster.disks / "metadata")
        cluster.server.wait_for_service(new.instance, "controller", lambda s: CONTROLLER in s.message)
        new.bind(CONTROLLER)
        running = cluster.server.wait_for_service(
            new.instance, "controller", lambda s: s.state == "running" and s.metrics.get("active_controllers") == 1
        )
        assert running.node_id == 100
    finally:
        old.cut_power()


def test_a_retired_vm_stops_its_services_and_stays_down(cluster: Cluster) -> None:
    instance = cluster.controller.instance
    cluster.server.retired.add(instance)
    cluster.serve_controller("c-2", generation=2, fresh=False)  # wakes the poll
    until(lambda: "over for good" in cluster.controller.log(), timeout_s=40)
    cluster.controller.cut_power()
    cluster.server.retired.discard(instance)
    after = cluster.server.count(instance)
    cluster.controller.boot()
    stopped = cluster.server.wait_for_service(instance, "controller", lambda s: s.state == "stopped", after=after)
    assert "retired" in stopped.message


def _min_isr(admin: AdminClient, topic: str) -> str | None:
    """The effective value, as the broker describes it; None while it does not know the topic."""
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    try:
        return str(admin.describe_configs([resource])[resource].result(20)["min.insync.replicas"].value)
    except KafkaException:
        return None


def _is_broker_up() -> bool:
    """By Kafka's own word, without any agent."""
    with httpx.Client(trust_env=False, timeout=1) as http:
        try:
            answer = http.post(
                f"http://{BROKER}:8778/jolokia/",
                json={"type": "read", "mbean": "kafka.server:type=KafkaServer,name=BrokerState", "attribute": "Value"},
            ).json()
        except httpx.HTTPError:
            return False
    return bool(answer.get("value") == 3)
