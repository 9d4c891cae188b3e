"""Write rates of the metric lake in a drain request."""

from datetime import UTC, datetime
from pathlib import Path

from controlplane.converger.tick.lake_rates import (
    OLDEST_S,
    read_cpu,
    read_lake,
    with_lake_figures,
    with_lake_rates,
)
from planner.drain.plan import DrainPlan
from planner.drain.request import DrainRequest
from planner.drain.solve import solve
from planner.observed import TopicPartition
from planner.rebalancing.question import RebalanceQuestion
from spark.metrics.rates import Rate, Rates
from tests.unit.planner.drain.drain_cases import request, roll
from tests.unit.planner.rebalancing.rebalance_cases import question

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SEEN = "growth of the leaders' logs over 30 s, 4 s old"


def asked(**changes: object) -> DrainRequest:
    seen, _ = roll()
    return request(seen, outgoing=(1000,), targets=(1003,), successors={1000: 1003}, **changes)


def with_rates(drain: DrainRequest, rates: Rates) -> DrainRequest:
    return with_lake_rates(drain, "lake", now=NOW, read=lambda lake, cluster, now: rates)


def test_windows_go_before_what_logs_grew_by_and_the_rest_keeps_its_rate() -> None:
    names = [p.name for p in roll()[0].partitions]
    drain = asked(write_bytes_per_s=dict.fromkeys(names[:6], 7), write_rates_from=SEEN)
    lake = {(n.topic, n.partition): Rate(99.2, 5.0) for n in (names[0], names[8])}
    found = with_rates(drain, Rates(by_partition=lake, age_s=240.0, completeness=0.9, reason="2 partitions"))
    rates = dict(zip((found.cluster.name(r) for r in range(12)), found.cluster.write_bytes_per_s.tolist(), strict=True))
    assert [rates[n] for n in names] == [100, 7, 7, 7, 7, 7, -1, -1, 100, -1, -1, -1]
    plan = solve(found)
    assert isinstance(plan, DrainPlan)
    line = f"write rate of 7 of 12 moved partitions known: metric windows of 2 partitions, 240 s old; of others {SEEN}"
    assert line in plan.certificate.assumptions


def test_a_cold_or_old_lake_leaves_the_request_as_it_was() -> None:
    drain = asked(write_rates_from=SEEN)
    assert with_rates(drain, Rates(reason="no rates, there is no metric lake yet")) is drain
    one = {("orders", 0): Rate(1.0, 1.0)}
    assert with_rates(drain, Rates(by_partition=one, age_s=OLDEST_S + 1, reason="old")) is drain


def test_a_lake_that_is_not_there_is_a_cold_start(tmp_path: Path) -> None:
    drain = asked()
    assert with_lake_rates(drain, str(tmp_path), now=NOW) is drain
    assert "there is no metric lake" in read_lake(str(tmp_path), "u1", NOW).reason


def test_a_lake_that_cannot_be_read_stops_no_drain(tmp_path: Path) -> None:
    log = tmp_path / "windows" / "_delta_log"
    log.mkdir(parents=True)
    (log / "00000000000000000000.json").write_text("no json")
    assert "cannot be read" in read_lake(str(tmp_path), "u1", NOW).reason
    drain = asked()
    assert with_lake_rates(drain, str(tmp_path), now=NOW) is drain


def balanced_with(rates: Rates, cpu: dict[int, float] | None = None) -> RebalanceQuestion:
    asked_of = question(write_bytes_per_s={TopicPartition("orders", 1): 7}, write_rates_from=SEEN)
    return with_lake_figures(
        asked_of, "lake", now=NOW, read=lambda lake, cluster, now: rates, cpu=lambda lake, cluster, now: cpu or {}
    )


def test_a_rebalance_gets_writes_reads_and_cpu_of_the_windows() -> None:
    lake = {("orders", 0): Rate(99.2, 5.5), ("gone", 0): Rate(1.0, 1.0)}
    rates = Rates(by_partition=lake, age_s=240.0, completeness=0.9, reason="2 partitions")
    found = balanced_with(rates, {1000: 0.4}).request
    assert found.write_bytes_per_s == {TopicPartition("orders", 0): 100, TopicPartition("orders", 1): 7}
    assert found.read_bytes_per_s == {TopicPartition("orders", 0): 6}
    assert found.cpu_used == {1000: 0.4}
    assert found.write_rates_from == f"metric windows of 1 partitions, 240 s old; of others {SEEN}"


def test_a_cold_or_old_lake_leaves_a_rebalance_as_it_was() -> None:
    plain = balanced_with(Rates(reason="no rates, there is no metric lake yet"))
    assert plain.request.cpu_used == {}
    assert plain.request.write_rates_from == SEEN
    old = Rates(by_partition={("orders", 0): Rate(1.0, 1.0)}, age_s=OLDEST_S + 1, reason="old")
    assert balanced_with(old, {1000: 0.4}).request == plain.request


def test_cpu_of_a_lake_that_is_not_there_or_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    assert read_cpu(str(tmp_path), "u1", NOW) == {}
    log = tmp_path / "windows" / "_delta_log"
    log.mkdir(parents=True)
    (log / "00000000000000000000.json").write_text("no json")
    assert read_cpu(str(tmp_path), "u1", NOW) == {}
