"""What an agent serves to Prometheus: over HTTP, as of its last report, by the names the server has for the same."""

import socket
from datetime import UTC, datetime

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from agent.exposition import Exposition, families, serve
from agent.host_port import HostPort
from agent.metrics import DIGEST
from agent.wire import FindingReport, LogDirReport, Report, ServiceReport
from controlplane.api.metrics import families as server_families

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
BROKER = ServiceReport(
    name="broker",
    state="running",
    start_id="s-1",
    since=NOW,
    log_dirs=(LogDirReport(name="data", total_bytes=100, free_bytes=40, partitions=7),),
    metrics={"leaders": 3.0, "bytes_in_total": 1e6},
    findings=(FindingReport(name="disk_filling", since=NOW, message="full in 2 h"),),
    log_lines={"errors": 2},
)
REPORT = Report(
    cluster_uid="c0ffee",
    node="brokers-a-0",
    generation=2,
    boot_id="b",
    seq=1,
    at=NOW,
    agent_version="0.1.0",
    epoch=1,
    services=(BROKER, BROKER.model_copy(update={"name": "controller", "metrics": {}, "log_dirs": ()})),
)


def scraped(port: int) -> dict[str, dict[tuple[str, ...], float]]:
    text = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).text
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(value for _, value in sorted(sample.labels.items()))] = sample.value
    return found


def test_the_last_report_is_served_and_nothing_before_the_first() -> None:
    exposition = Exposition()
    served = serve(exposition, at=HostPort("127.0.0.1", 0))
    assert served is not None
    server, _ = served
    try:
        assert scraped(server.server_port) == {}
        exposition.keep(REPORT)
        seen = scraped(server.server_port)
        assert seen["kedge_agent_info"] == {("c0ffee", "2", "brokers-a-0", "0.1.0"): 1.0}
        assert seen["kedge_agent_report_timestamp_seconds"] == {(): NOW.timestamp()}
        assert seen["kedge_service_state"] == {("broker", "running"): 1.0, ("controller", "running"): 1.0}
        assert seen["kedge_service_finding"][("disk_filling", "broker")] == 1.0
        assert seen["kedge_service_log_lines"][("errors", "broker")] == 2.0
        assert seen["kedge_log_dir_free_bytes"] == {("data", "broker"): 40.0}
        assert seen["kedge_service_leaders"] == {("broker",): 3.0}
        assert seen["kedge_service_bytes_in_total"] == {("broker",): 1e6}
        exposition.keep(REPORT.model_copy(update={"services": ()}))
        assert "kedge_service_state" not in scraped(server.server_port)
    finally:
        server.shutdown()
        server.server_close()


def test_an_address_that_is_taken_is_said_and_the_agent_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert serve(Exposition(), at=HostPort("127.0.0.1", taken.getsockname()[1])) is None
    assert "no metrics are served at 127.0.0.1" in caplog.text


def test_what_the_server_shows_of_a_service_has_the_same_name_here() -> None:
    told = {m.name: 1.0 for metrics in DIGEST.values() for m in metrics}
    report = REPORT.model_copy(update={"services": (BROKER.model_copy(update={"metrics": told}),)})
    here = {sample.name for family in families(report) for sample in family.samples}
    shown = {*server_families._DIGEST, *server_families._DIGEST_TOTALS} & told.keys()
    assert shown
    assert {f"kedge_service_{name}" for name in shown} <= here
