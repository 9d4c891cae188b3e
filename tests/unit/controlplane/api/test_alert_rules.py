"""Every shipped alert fires on what it is for, in its time, and stays quiet on what looks like it."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import yaml

from tests.unit.controlplane.api.alertrules import Series, fired
from tests.unit.controlplane.api.test_metrics_route import ALERTS, REPOSITORY, a_house, scraped

RULES = {rule["alert"]: rule for rule in ALERTS}
HOUR = 3600
ORDERS = {"cluster": "orders"}
VM = {**ORDERS, "instance": "brokers-a-0.g1"}
BROKER = {**VM, "service": "broker"}
BEAT = {**ORDERS, "broker": "1001", "watcher": "brokers-a-0.g1"}
P99 = {**BEAT, "way": "end_to_end", "quantile": "0.99"}

Value = float | Callable[[float], float | None]


def series(name: str, labels: dict[str, str], value: Value) -> Series:
    return Series(name, labels, value if callable(value) else lambda _: value)


def status(word: str, value: Value = 1) -> Series:
    return series("kedge_cluster_status", {**ORDERS, "status": word}, value)


def condition(kind: str, value: Value = 1) -> Series:
    return series("kedge_cluster_condition", {**ORDERS, "type": kind, "reason": "AsTested"}, value)


def during(first_s: float, last_s: float, value: float = 1, else_: float | None = 0) -> Callable[[float], float | None]:
    """The value in that time, and another one before and after."""
    return lambda t: value if first_s <= t < last_s else else_


def now_and_then(every_s: float) -> Callable[[float], float]:
    """A time stamp that is renewed as often."""
    return lambda t: t - t % every_s


@dataclass(frozen=True)
class Case:
    """`within_s`: by when it fires; None: it stays quiet for an hour."""

    rule: str
    what: str
    told: tuple[Series, ...]
    within_s: float | None = None

    def __str__(self) -> str:
        return f"{self.rule}: {self.what}"


def case(rule: str, what: str, *told: Series, within_s: float | None = None) -> Case:
    return Case(f"Kedge{rule}", what, told, within_s)


LEADS, FOLLOWS = series("kedge_leader", {}, 1), series("kedge_leader", {"job": "other"}, 0)
WORKS_ELSEWHERE = series("kedge_cluster_status", {"cluster": "clicks", "status": "Working"}, 1)
UNDER = "kedge_cluster_under_min_isr_partitions"
AT = "kedge_cluster_at_min_isr_partitions"
THIN = "kedge_cluster_under_replicated_partitions"
TICK = "kedge_cluster_last_tick_timestamp_seconds"
READ = "kedge_cluster_metadata_timestamp_seconds"
HEARD = "kedge_agent_report_timestamp_seconds"
LOST = "kedge_cluster_lost_instances"
FINDING, EXITS = "kedge_service_finding", "kedge_service_unexpected_exits_total"
FREE, SIZE = "kedge_log_dir_free_bytes", "kedge_log_dir_size_bytes"
DIR = {**BROKER, "log_dir": "data"}
GROUP = {**ORDERS, "group": "billing"}
ANOMALY = {**ORDERS, "kind": "slow-broker"}
NAME = {**ORDERS, "name": "orders.example.com"}
SOURCE = "kedge_cluster_source"
AUDIT, REACHED = "kedge_audit_topic_problem", "kedge_audit_topic_reached_timestamp_seconds"
NEWEST, IN_TOPIC = "kedge_audit_topic_newest_entry", "kedge_audit_topic_last_entry"
HERE, FIT, SHED = "kedge_agents_connected", "kedge_agents_fit", "kedge_requests_shed_total"
FAILS = "kedge_task_failures_total"
PIPELINE, AWAY = "kedge_metric_pipeline", {"state": "backing off"}
BATCH = "kedge_metric_stream_batch_timestamp_seconds"
CERTIFICATE, SHOWN = "kedge_certificate_end_timestamp_seconds", {**ORDERS, "node": "brokers-a-0.g1", "seen": "served"}
CA, OF_CA, DAY = "kedge_ca_end_timestamp_seconds", {**ORDERS, "kind": "cluster"}, 86400

CASES = (
    case("NoLeader", "nobody leads", series("kedge_leader", {}, 0), FOLLOWS, within_s=150),
    case("NoLeader", "no server is scraped", within_s=150),
    case("NoLeader", "one of two leads", LEADS, FOLLOWS),
    case("NoLeader", "another one takes over", series("kedge_leader", {}, during(600, 690, 0, 1))),
    case("ClusterNotLookedAt", "the loop hangs", series(TICK, ORDERS, 0), within_s=360),
    case("ClusterNotLookedAt", "a cluster at rest", series(TICK, ORDERS, now_and_then(60))),
    case("ClusterBlocked", "it is blocked", status("Blocked"), within_s=660),
    case("ClusterBlocked", "a wait that passes", status("Blocked", during(600, 1140, 1, None))),
    case("ClusterBlocked", "it works", status("Working")),
    case("ClusterUnreadable", "a newer release wrote it", status("Unreadable"), within_s=30),
    case("ClusterUnreadable", "it is held", status("Held")),
    case("PartitionsUnderMinIsr", "writes are refused", series(UNDER, ORDERS, 3), within_s=90),
    case("PartitionsUnderMinIsr", "a leader changes", series(UNDER, ORDERS, during(600, 630))),
    case("PartitionsAtMinIsr", "a broker lags", series(AT, ORDERS, 3), status("Converged"), within_s=330),
    case("PartitionsAtMinIsr", "a roll is in hand", series(AT, ORDERS, 3), status("Working")),
    case("PartitionsAtMinIsr", "a restart", series(AT, ORDERS, during(600, 840)), status("Converged")),
    case("PartitionsAtMinIsr", "another one rolls", series(AT, ORDERS, 3), WORKS_ELSEWHERE, within_s=330),
    case("PartitionsUnderReplicated", "a disk failed", series(THIN, ORDERS, 3), status("Blocked"), within_s=1830),
    case("PartitionsUnderReplicated", "a drain is in hand", series(THIN, ORDERS, 3), status("Working")),
    case("PartitionsUnderReplicated", "a broker catches up", series(THIN, ORDERS, during(600, 2100, 3))),
    case("MetadataOld", "no broker answers", series(READ, ORDERS, 0), within_s=660),
    case("MetadataOld", "read once a minute", series(READ, ORDERS, now_and_then(60))),
    case("InstanceLost", "a VM is gone", series(LOST, ORDERS, 1), within_s=330),
    case("InstanceLost", "it is found again", series(LOST, ORDERS, during(600, 840))),
    case("AgentSilent", "its VM is down", series(HEARD, VM, 0), within_s=180),
    case("AgentSilent", "it reports every 15 s", series(HEARD, VM, now_and_then(15))),
    case("AgentSilent", "the VM boots", series(HEARD, VM, lambda t: t - 100 if 600 <= t < 700 else t)),
    case("ServiceFinding", "a deadlock", series(FINDING, {**BROKER, "finding": "deadlock"}, 1), within_s=150),
    case("ServiceFinding", "it passes", series(FINDING, {**BROKER, "finding": "x"}, during(600, 690, 1, None))),
    case("ServiceExits", "Kafka ended", series(EXITS, BROKER, during(600, HOUR, 3, 2)), within_s=660),
    case("ServiceExits", "it ended long ago", series(EXITS, BROKER, 2)),
    case("ServiceExits", "the agent is new, and counts from 0", series(EXITS, BROKER, during(0, 600, 5))),
    case("LogDirFull", "5 % are free", series(FREE, DIR, 5), series(SIZE, DIR, 100), within_s=330),
    case("LogDirFull", "11 % are free", series(FREE, DIR, 11), series(SIZE, DIR, 100)),
    case("LogDirFull", "for a moment", series(FREE, DIR, during(600, 840, 5, 50)), series(SIZE, DIR, 100)),
    case("LogDirFull", "another disk's size", series(FREE, DIR, 5), series(SIZE, {**DIR, "log_dir": "logs"}, 100)),
    case("GroupStuck", "a record it cannot get over", series("kedge_group_stuck_partitions", GROUP, 1), within_s=330),
    case("GroupStuck", "it goes on", series("kedge_group_stuck_partitions", GROUP, during(600, 840))),
    case("GroupUnread", "a topic has grown", series("kedge_group_unread_partitions", GROUP, 2), within_s=330),
    case("GroupUnread", "a rebalance", series("kedge_group_unread_partitions", GROUP, during(600, 840))),
    case("HeartbeatsSilent", "no record comes back", condition("HeartbeatsSilent"), within_s=90),
    case("HeartbeatsSilent", "another condition", condition("AtMinIsr")),
    case("HeartbeatsSilent", "for a moment", condition("HeartbeatsSilent", during(600, 630, 1, None))),
    case("HeartbeatsSlow", "2 s at p99", series("kedge_heartbeat_latency_seconds", P99, 2), within_s=660),
    case("HeartbeatsSlow", "0.2 s", series("kedge_heartbeat_latency_seconds", P99, 0.2)),
    case("HeartbeatsSlow", "p50", series("kedge_heartbeat_latency_seconds", {**P99, "quantile": "0.5"}, 2)),
    case("HeartbeatsSlow", "a roll's minute", series("kedge_heartbeat_latency_seconds", P99, during(600, 900, 2, 0.2))),
    case("CertificateEnding", "79 days are left", series(CERTIFICATE, SHOWN, 79 * DAY), within_s=3630),
    case("CertificateEnding", "it was renewed", series(CERTIFICATE, SHOWN, 365 * DAY)),
    case("CaEnding", "eleven months are left", series(CA, OF_CA, 330 * DAY), within_s=3630),
    case("CaEnding", "nine years are left", series(CA, OF_CA, 9 * 365 * DAY)),
    case("RegistrationWrong", "Kafka has it fenced", condition("RegistrationWrong"), within_s=90),
    case("TickFailing", "each look fails", condition("TickFailing"), within_s=90),
    case("TickFailing", "it is over", condition("TickFailing", 0)),
    case("TickFailing", "for a moment", condition("TickFailing", during(600, 630, 1, None))),
    case("BrokerAway", "a crash loop", condition("BrokerAway"), within_s=90),
    case("BrokerAway", "it is over", condition("BrokerAway", 0)),
    case("BrokerAway", "for a moment", condition("BrokerAway", during(600, 630, 1, None))),
    case("RegistrationWrong", "it is over", condition("RegistrationWrong", 0)),
    case(
        "AnomalyWaits",
        "nobody does anything",
        series("kedge_anomalies", {**ANOMALY, "state": "waiting"}, 1),
        within_s=330,
    ),
    case("AnomalyWaits", "it is healed", series("kedge_anomalies", {**ANOMALY, "state": "healing"}, 1)),
    case("AnomalyWaits", "it is Kedge's own doing", series("kedge_anomalies", {**ANOMALY, "state": "suppressed"}, 1)),
    case("NameNotKept", "the zone refuses", series("kedge_dns_name_problem", NAME, 1), within_s=660),
    case("NameNotKept", "it is kept", series("kedge_dns_name_problem", NAME, 0)),
    case("SourceNotSynced", "a file is wrong", series(SOURCE, {**ORDERS, "sync": "Refused"}, 1), within_s=930),
    case("SourceNotSynced", "it is in sync", series(SOURCE, {**ORDERS, "sync": "Synced"}, 1)),
    case("AuditTopicNotReached", "it never was", series(AUDIT, {}, 1), within_s=330),
    case("AuditTopicNotReached", "no more", series(AUDIT, {}, 1), series(REACHED, {}, 0), within_s=330),
    case("AuditTopicNotReached", "a look never ends", series(REACHED, {}, 0), within_s=390),
    case(
        "AuditTopicNotReached",
        "it fails, and then its look never ends",
        series(AUDIT, {}, during(0, 180, 1, None)),
        series(REACHED, {}, during(180, HOUR, 0, None)),
        within_s=330,
    ),
    case("AuditTopicNotReached", "all is well", series(AUDIT, {}, 0), series(REACHED, {}, now_and_then(5))),
    case(
        "AuditTopicNotReached",
        "brokers are restarted",
        series(AUDIT, {}, during(600, 840)),
        series(REACHED, {}, lambda t: 600.0 if 600 <= t < 840 else t),
    ),
    case("AuditTopicNotReached", "there is no such topic", LEADS),
    case("AuditTopicBehind", "it falls back", series(NEWEST, {}, 5000), series(IN_TOPIC, {}, 3999), within_s=930),
    case("AuditTopicBehind", "a burst", series(NEWEST, {}, during(600, 1440, 5000, 3000)), series(IN_TOPIC, {}, 3000)),
    case("AuditTopicBehind", "some are on their way", series(NEWEST, {}, 5000), series(IN_TOPIC, {}, 4000)),
    case("AuditTopicBehind", "what the topic has is not known", series(NEWEST, {}, 5000)),
    case("AgentsNearlyFull", "nine of ten", series(HERE, {}, 300), series(FIT, {}, 336), within_s=330),
    case("AgentsNearlyFull", "half of them", series(HERE, {}, 160), series(FIT, {}, 336)),
    case("AgentsNearlyFull", "a short rush", series(HERE, {}, during(600, 840, 300, 10)), series(FIT, {}, 336)),
    case("MetricsNotRead", "its process ends again and again", series(PIPELINE, AWAY, 1), within_s=630),
    case("MetricsNotRead", "a topic stands still", series(BATCH, {"stream": "orders"}, 0), within_s=930),
    case("MetricsNotRead", "it was killed once", series(PIPELINE, AWAY, during(600, 660))),
    case("MetricsNotRead", "batches come", series(BATCH, {"stream": "orders"}, now_and_then(60))),
    case("MetricsNotRead", "it is off", series(PIPELINE, {"state": "off"}, 1)),
    case("RequestsShed", "agents are sent away", series(SHED, {"who": "agents"}, lambda t: t / 10), within_s=660),
    case("RequestsShed", "it was so before", series(SHED, {"who": "agents"}, 12345)),
    case("RequestsShed", "a short rush", series(SHED, {"who": "people"}, lambda t: min(max(t - 600, 0), 60))),
    case("DatabaseNotWritten", "the disk is full", series("kedge_database_problem", {}, 1), within_s=90),
    case("DatabaseNotWritten", "a long write of somebody", series("kedge_database_problem", {}, during(600, 640))),
    case("TaskFails", "the lease fails", series(FAILS, {"task": "lease of converge"}, lambda t: t), within_s=960),
    case("TaskFails", "it failed once", series(FAILS, {"task": "loop"}, lambda t: float(t > 600))),
    case("SourceNotSynced", "a push", series(SOURCE, {**ORDERS, "sync": "OutOfSync"}, during(600, 1200, 1, None))),
)


@pytest.mark.parametrize("told", CASES, ids=str)
def test_a_rule_fires_in_its_time_or_stays_quiet(told: Case) -> None:
    found = fired(RULES[told.rule], told.told, until_s=HOUR)
    if told.within_s is None:
        assert found == []
        return
    first_s, _ = min(found, key=lambda one: one[0])
    assert first_s <= told.within_s
    assert first_s > 0 or "for" not in RULES[told.rule], "a rule that waits does not fire at once"


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_has_a_series_that_fires_it_and_one_that_does_not(rule: str) -> None:
    of_rule = [c.within_s is not None for c in CASES if c.rule == rule]
    assert set(of_rule) == {True, False}, f"{rule} needs a case that fires and one that stays quiet"


def test_the_series_of_the_cases_have_the_labels_that_are_told() -> None:
    """Else a rule would be held against metrics nobody tells."""
    labels = {name: {frozenset(s.labels) for s in samples} for name, samples in scraped(a_house()).items()}
    labels[SOURCE] = {frozenset({"cluster", "sync"})}  # told of clusters with a git source
    labels |= {name: {frozenset(told)} for name, told in ((CERTIFICATE, SHOWN), (CA, OF_CA))}  # of clusters with TLS
    for one in {s.name: s for c in CASES for s in c.told if s.labels != FOLLOWS.labels}.values():
        assert frozenset(one.labels) in labels[one.name], one.name


@pytest.mark.parametrize("rule", RULES)
def test_what_an_alert_says_names_labels_it_has(rule: str) -> None:
    said = set(re.findall(r"\$labels\.(\w+)", str(RULES[rule]["annotations"])))
    for told in (c for c in CASES if c.rule == rule and c.within_s is not None):
        for _, labels in fired(RULES[rule], told.told, until_s=HOUR):
            assert said <= labels.keys()


def test_the_page_scrapes_so_that_the_name_of_a_vm_stays_its_own() -> None:
    """Prometheus puts its target's address into the label `instance`, unless it is told to leave it."""
    page = (REPOSITORY / "docs/monitoring.md").read_text(encoding="utf-8")
    config = yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0])
    assert "instance" in {label for rule in ALERTS for label in re.findall(r"\$labels\.(\w+)", str(rule))}
    assert all(job["honor_labels"] is True for job in config["scrape_configs"])
