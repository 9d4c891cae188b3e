"""/v1/metrics: what Prometheus is told, and that alert rules and dashboard ask for nothing else."""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from agent.wire import FindingReport, HeartbeatReport, LogDirReport, Report, ServiceReport
from controlplane.api.audit.status import AuditTopicState, TopicStatus
from controlplane.api.server_load import ServerLoad
from controlplane.background.anomalies.record import ANOMALIES_NOTED
from controlplane.background.dns.records import DNS_NAME
from controlplane.cluster.observed.agent_reports import AGENT_REPORT
from controlplane.cluster.observed.consumer_groups import GROUPS_NOTED, GroupNoted, GroupsNoted
from controlplane.converger.tick.report import Said
from controlplane.runtime.descriptors import budget_of
from controlplane.runtime.process_errors import Troubles
from controlplane.storage.latest_values import LatestValue, Subject
from events import facts
from spark.pipeline.status import PipelineStatus, StreamStatus
from spark.plan_jobs import EndedJob, JobTotals, PlanningTotals
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.api.portal_house import START, House, three_brokers

REPOSITORY = Path(__file__).parents[4]
ALERTS = yaml.safe_load((REPOSITORY / "examples/monitoring/alerts.yaml").read_text())["groups"][0]["rules"]
DASHBOARD = json.loads((REPOSITORY / "examples/monitoring/dashboard.json").read_text())
EXPRESSIONS = {
    **{f"alert {rule['alert']}": rule["expr"] for rule in ALERTS},
    **{f"panel {p['title']}": t["expr"].replace("$cluster", ".*") for p in DASHBOARD["panels"] for t in p["targets"]},
}


@pytest.fixture
def house() -> House:
    return a_house()


@pytest.fixture(scope="module")
def names() -> set[str]:
    """Every metric that is told of a cluster of which all is known."""
    of_tls = {"kedge_certificate_end_timestamp_seconds", "kedge_ca_end_timestamp_seconds"}
    return {*scraped(a_house()), *of_tls, "kedge_cluster_drain_bytes", "kedge_cluster_source"}


def a_house() -> House:
    """A cluster of three brokers, blocked, with everything told that could be."""
    troubles = Troubles(lambda: START)
    troubles.note("loop", OSError(24, "Too many open files"))
    house = House(load=ServerLoad(budget_of(1024), troubles))
    house.load.see_connections({"agents": 4, "people": 1}, 60)
    house.load.count_closed("room")
    house.pipeline = PipelineStatus(state="running", since=START, restarts=2, memory_bytes=2**30)
    house.apply()
    view = house.join(*three_brokers())
    names = (view.uid, "theirs")
    streams = [
        StreamStatus(name=n, topic="m", state="reading", records=9, behind=3, batch_s=1.5, batch_at=START)
        for n in names
    ]
    house.pipeline = replace(house.pipeline, streams=tuple(streams))
    house.record(
        facts.ConditionChanged("Blocked", status=True, reason="RunFailed", message="Terraform failed"),
    )
    house.snapshots[view.uid] = a_snapshot(
        a_partition(), a_partition("orders-1", isr=(1000,)), a_partition("orders-2", isr=(1000, 1001))
    )
    house.latest.put(_report(view.uid))
    house.converger._said[view.uid] = Said(START, "blocked", took_s=0.25)
    name = Subject(DNS_NAME, view.uid, "orders.example.com")
    house.latest.put(LatestValue(name, {"addresses": [], "problem": "refused"}, source="dns", observed_at=START))
    groups = (GroupNoted("billing", "Stuck", 2, 6, 1200, stuck=1), GroupNoted("away", "NoMembers", 0, 1, None))
    noted = GroupsNoted(START, START, groups)
    house.latest.put(LatestValue(Subject(GROUPS_NOTED, view.uid, "groups"), asdict(noted), "kafka", START))
    open_ = {"kind": "slow-broker", "subject": "b", "state": "waiting", "found_at": START.isoformat()}
    house.audit_topic = TopicStatus("relay", START, AuditTopicState.REACHED, START, 41, 40, {"kedge_relay": 1})
    value = {"open_": [open_], "found": 1}
    house.latest.put(LatestValue(Subject(ANOMALIES_NOTED, view.uid, "anomalies"), value, "events", START))
    return house


def scraped(house: House) -> dict[str, list[Any]]:
    """Samples by the name they are asked for by."""
    answer = house.client.get("/v1/metrics")
    assert answer.status_code == 200, answer.text
    found: dict[str, list[Any]] = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample)
    return found


def value(samples: dict[str, list[Any]], metric: str, **labels: str) -> float:
    (found,) = [s.value for s in samples[metric] if labels.items() <= s.labels.items()]
    return float(found)


def test_the_server_and_its_clusters_are_told(house: House) -> None:
    told = scraped(house)
    assert value(told, "kedge_leader") == 1
    assert value(told, "kedge_epoch") == 3
    assert value(told, "kedge_cluster_last_tick_seconds") == 0.25
    assert value(told, "kedge_build_info", version="1.2.3") == 1
    assert value(told, "kedge_clusters", status="Blocked") == 1
    assert value(told, "kedge_clusters", status="Converged") == 0
    assert value(told, "kedge_cluster_condition", type="Blocked", reason="RunFailed") == 1
    assert value(told, "kedge_cluster_instances", phase="joined", service="broker") == 3
    assert value(told, "kedge_cluster_under_min_isr_partitions", cluster="orders") == 1
    assert value(told, "kedge_cluster_at_min_isr_partitions", cluster="orders") == 1
    assert value(told, "kedge_dns_name_problem", name="orders.example.com") == 1
    assert value(told, "process_open_fds") > 0


def test_one_report_that_another_release_kept_takes_no_other_one_away(house: House) -> None:
    unread = LatestValue(Subject(AGENT_REPORT, house.view().uid, "brokers-c-0.g1"), {"wire": "of 2031"}, "agent", START)
    house.latest.put(unread)
    told = scraped(house)
    assert value(told, "kedge_service_state", instance="brokers-a-0.g1", state="running", service="broker") == 1
    assert "brokers-c-0.g1" not in {s.labels["instance"] for s in told["kedge_agent_report_timestamp_seconds"]}


def test_a_service_is_told_as_its_agent_saw_it(house: House) -> None:
    told = scraped(house)
    where = {"cluster": "orders", "instance": "brokers-a-0.g1", "service": "broker"}
    assert value(told, "kedge_service_state", state="running", **where) == 1
    assert value(told, "kedge_service_finding", finding="memory_leak", **where) == 1
    assert value(told, "kedge_service_leaders", **where) == 7
    assert value(told, "kedge_service_bytes_in_total", **where) == 1e9
    assert value(told, "kedge_service_unexpected_exits_total", **where) == 2
    assert value(told, "kedge_log_dir_free_bytes", log_dir="data", **where) == 5
    assert value(told, "kedge_service_log_lines", **{"class": "errors"}, **where) == 4
    assert value(told, "kedge_agent_report_timestamp_seconds", instance="brokers-a-0.g1") == START.timestamp()


def test_groups_are_told_with_their_lag_while_the_look_at_them_is_young(house: House) -> None:
    told = scraped(house)
    billing = {"cluster": "orders", "group": "billing"}
    assert value(told, "kedge_group_lag", **billing) == 1200
    assert value(told, "kedge_group_members", **billing) == 2
    assert value(told, "kedge_group_stuck_partitions", **billing) == 1
    assert value(told, "kedge_group_unread_partitions", **billing) == 0
    assert value(told, "kedge_cluster_groups_timestamp_seconds", cluster="orders") == START.timestamp()
    assert {s.labels["group"] for s in told["kedge_group_lag"]} == {"billing"}, "a lag that is not known is absent"
    house.pass_time(minutes=11)
    assert "kedge_group_lag" not in scraped(house)


def test_heartbeats_are_told_by_broker_while_the_agent_that_sends_them_is_heard(house: House) -> None:
    told = scraped(house)
    of = {"cluster": "orders", "broker": "1001", "watcher": "brokers-a-0.g1"}
    assert value(told, "kedge_heartbeat_latency_seconds", way="produce", quantile="0.5", **of) == 0.002
    assert value(told, "kedge_heartbeat_latency_seconds", way="end_to_end", quantile="0.99", **of) == 0.03
    assert value(told, "kedge_heartbeat_silent_seconds", **of) == 1.5
    assert value(told, "kedge_heartbeats", **of) == 30
    silent = {"cluster": "orders", "broker": "1002", "watcher": "brokers-a-0.g1"}
    assert value(told, "kedge_heartbeat_silent_seconds", **silent) == 70
    assert "1002" not in {s.labels["broker"] for s in told["kedge_heartbeat_latency_seconds"]}, "none came: absent"
    house.pass_time(minutes=3)
    assert "kedge_heartbeat_silent_seconds" not in scraped(house)


def test_what_is_not_known_is_absent_and_not_zero() -> None:
    house = House()
    house.apply()
    told = scraped(house)
    assert "kedge_cluster_partitions" not in told
    assert "kedge_cluster_metadata_timestamp_seconds" not in told
    assert "kedge_service_leaders" not in told


def test_a_deleted_instance_and_a_deleted_cluster_are_told_no_more(house: House) -> None:
    view = house.view()
    house.latest.put(_report(view.uid, node="brokers-z-9"))
    assert "brokers-z-9.g1" not in {s.labels["instance"] for s in scraped(house)["kedge_service_state"]}


def test_nobody_unknown_is_told_anything(house: House) -> None:
    assert house.client_with({}).get("/v1/metrics").status_code == 401


@pytest.mark.parametrize("named", EXPRESSIONS)
def test_every_expression_asks_for_metrics_there_are(names: set[str], named: str) -> None:
    asked = set(_metrics(promql_parser.parse(EXPRESSIONS[named])))
    assert asked, "it names no metric"
    assert asked <= names


def test_every_alert_says_what_is_wrong_and_where_to_read_on() -> None:
    page = (REPOSITORY / "docs/monitoring.md").read_text()
    anchors = {heading.lower() for heading in re.findall(r"^### (\w+)$", page, flags=re.MULTILINE)}
    assert {rule["annotations"]["runbook"].partition("#")[2] for rule in ALERTS} == anchors
    for rule in ALERTS:
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"]


def test_a_drain_and_a_source_are_told_under_the_names_the_dashboard_asks_for() -> None:
    from controlplane.api.metrics.families import families
    from controlplane.api.metrics.snapshot import ClusterSnapshot, ServerSnapshot
    from tests.builders import a_drain, a_view

    view = a_view(drain=a_drain(bytes=100, done_bytes=40))
    one = ClusterSnapshot(view, "Working", None, None, {}, {}, "OutOfSync")
    found = {
        (s.name, tuple(s.labels.values())): s.value
        for family in families(ServerSnapshot(START, "1", True, 1, "spark", (one,)))
        for s in family.samples
    }
    assert found["kedge_cluster_drain_bytes", ("orders", "planned")] == 100
    assert found["kedge_cluster_drain_bytes", ("orders", "done")] == 40
    assert found["kedge_cluster_source", ("orders", "OutOfSync")] == 1


def _metrics(node: Any) -> Iterator[str]:
    """Every metric an expression names."""
    if isinstance(node, promql_parser.VectorSelector):
        yield str(node.name)
    for part in ("expr", "lhs", "rhs", "vector_selector"):
        child = getattr(node, part, None)
        if child is not None:
            yield from _metrics(child)
    for argument in getattr(node, "args", ()) or ():
        yield from _metrics(argument)


def _report(uid: str, node: str = "brokers-a-0") -> LatestValue:
    service = ServiceReport(
        name="broker",
        state="running",
        start_id="s-1",
        node_id=1000,
        since=START - timedelta(hours=1),
        log_dirs=(LogDirReport(name="data", total_bytes=10, free_bytes=5, partitions=3),),
        metrics={"leaders": 7.0, "bytes_in_total": 1e9, "bytes_out_total": 2e9, "unexpected_exits": 2.0}
        | {"request_handler_idle": 0.5},
        findings=(FindingReport(name="memory_leak", since=START, message="grows"),),
        log_lines={"errors": 4},
    )
    report = Report(
        cluster_uid=uid,
        node=node,
        generation=1,
        boot_id="b",
        seq=1,
        at=START,
        agent_version="1",
        epoch=3,
        services=(service,),
        heartbeats=(
            HeartbeatReport(broker=1001, beats=30, silent_s=1.5, produce_p50_s=0.002, end_to_end_p99_s=0.03),
            HeartbeatReport(broker=1002, beats=0, silent_s=70, problem="not taken: timed out"),
        ),
    )
    subject = Subject(AGENT_REPORT, uid, f"{node}.g1")  # type: ignore[arg-type]
    return LatestValue(subject, report.model_dump(mode="json"), source="agent", observed_at=START)


def test_the_load_of_the_server_is_told_with_what_it_sent_away() -> None:
    house = a_house()
    house.load.see_agents(300)
    for _ in range(3):
        house.load.count_shed("agents", "no-room")
    house.load.count_shed("agents", "queue")
    told = scraped(house)

    def value(name: str, **labels: str) -> float:
        (found,) = [s.value for s in told[name] if s.labels == labels]
        return float(found)

    assert (value("kedge_agents_connected"), value("kedge_agents_fit")) == (300, 336)
    assert value("kedge_requests_shed_total", who="agents") == 4
    assert value("kedge_requests_shed_total", who="people") == 0
    assert value("kedge_connections", who="agents") == 4
    assert value("kedge_connections_closed_total", why="room") == 1
    assert value("kedge_task_failures_total", task="loop") == 1
    assert value("kedge_database_problem") == 0


def test_what_reads_metrics_is_told_with_the_streams_of_clusters_that_may_be_seen(house: House) -> None:
    told = scraped(house)
    assert value(told, "kedge_metric_pipeline", state="running") == 1
    assert value(told, "kedge_metric_pipeline", state="backing off") == 0
    assert value(told, "kedge_metric_pipeline_restarts_total") == 2
    assert [s.labels for s in told["kedge_metric_stream_up"]] == [{"stream": "orders"}], "nobody else's"
    assert value(told, "kedge_metric_stream_behind_messages", stream="orders") == 3
    assert value(told, "kedge_metric_stream_batch_timestamp_seconds", stream="orders") == START.timestamp()
    house.pipeline = None
    assert "kedge_metric_pipeline" not in scraped(house), "what nobody says is absent"


def test_plans_that_were_not_sparks_are_counted_by_why(house: House) -> None:
    assert "kedge_plan_jobs" not in scraped(house), "what nobody says is absent"
    last = EndedJob(at=START, drains=40, rebalances=10, partitions=5_000, seconds=2.5)
    house.plans = PlanningTotals(JobTotals().plus(last), {"timeout": 3})
    told = scraped(house)
    assert value(told, "kedge_plan_jobs_total") == 1
    assert value(told, "kedge_plan_job_clusters_total") == value(told, "kedge_plan_job_last_clusters") == 50
    assert value(told, "kedge_plans_in_process_total", reason="timeout") == 3
    assert value(told, "kedge_plans_in_process_total", reason="job failed") == 0
