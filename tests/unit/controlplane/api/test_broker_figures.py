"""What brokers did of late: the newest minute of each, the traffic of all, the steps of a roll, and who shows it."""

from datetime import datetime, timedelta

import pytest

from controlplane.api.read_models.broker_figures import newest, roll_marks, traffic
from controlplane.api.read_models.roll_stages import NodeRoll, Roll
from controlplane.api.schemas.figures import FiguresOut, TrafficOut
from controlplane.cluster.observed.broker_traffic import TrafficPoint
from controlplane.portal.charts import traffic_chart
from planner.anomalies.slow import BrokerWindow
from planner.forecasts.trend import Trend
from spark.metrics.read_trends import ClusterTrends
from spark.pipeline.status import PipelineStatus
from tests.unit.controlplane.api.portal_house import START, House, three_brokers
from tests.unit.controlplane.api.test_metrics_route import scraped, value

MINUTE = timedelta(minutes=1)


def minute(broker: int, ago: int, **figures: float) -> BrokerWindow:
    start = START - ago * MINUTE
    return BrokerWindow(broker=broker, start=start, end=start + MINUTE, started=None, completeness=1.0, figures=figures)


def test_the_newest_minute_of_a_broker_counts_where_it_is_young() -> None:
    found = newest([minute(1, 9, cpu=0.5), minute(1, 7, cpu=0.7), minute(2, 30, cpu=0.9)], START)
    assert {broker: one.figures["cpu"] for broker, one in found.items()} == {1: 0.7}


def test_traffic_is_the_sum_of_all_brokers_and_unknown_where_one_of_them_is() -> None:
    told = traffic(
        [
            minute(1, 2, nic_in_bytes_per_s=10.0, nic_out_bytes_per_s=1.0),
            minute(2, 2, nic_in_bytes_per_s=20.0),
            minute(1, 3, nic_in_bytes_per_s=5.0, nic_out_bytes_per_s=4.0),
        ],
        (),
    )
    assert [(p.at, p.in_bytes_per_s, p.out_bytes_per_s) for p in told] == [
        (START - 3 * MINUTE, 5.0, 4.0),
        (START - 2 * MINUTE, 30.0, None),
    ]


def test_what_agents_told_goes_on_where_the_lake_ends() -> None:
    told = [TrafficPoint(START - n * MINUTE / 2, float(n), None) for n in (9, 4, 3)]
    lake = [minute(1, 3, nic_in_bytes_per_s=50.0, nic_out_bytes_per_s=4.0)]
    assert [p.in_bytes_per_s for p in traffic(lake, told)] == [50.0, 4.0, 3.0]
    assert traffic([], told) == tuple(told), "without a lake it is all there is"


def test_the_steps_of_a_roll_are_marked_as_far_as_they_are_shown() -> None:
    nodes = {
        "b-0": NodeRoll("b-0", "replace", done_at=START - 5 * MINUTE),
        "b-1": NodeRoll("b-1", "replace"),
    }
    roll = Roll(generation=3, began_at=START - 90 * MINUTE, nodes=nodes)
    assert [(m.at, m.words) for m in roll_marks(roll, START - 10 * MINUTE)] == [
        (START - 5 * MINUTE, "b-0: replace done")
    ]
    assert roll_marks(roll, START - 100 * MINUTE)[0].words == "roll to generation 3 begins"
    assert roll_marks(Roll(), START - MINUTE) == ()


def test_a_chart_breaks_where_minutes_are_missing() -> None:
    points = [TrafficOut(at=START + n * MINUTE, in_bytes_per_s=2.0**20, out_bytes_per_s=None) for n in (0, 1, 5)]
    chart = traffic_chart(FiguresOut(cluster="orders", brokers=[], traffic=points, marks=[], why_none=""))
    assert chart is not None
    assert chart.lines["in"] == (1.0, 1.0, None, 1.0)
    assert traffic_chart(FiguresOut(cluster="x", brokers=[], traffic=points[:1], marks=[], why_none="")) is None


@pytest.fixture
def house() -> House:
    house = House()
    house.apply()
    house.join(*three_brokers())
    kept = [minute(1000, ago, cpu=0.25, gc_share=0.01, nic_in_bytes_per_s=2.0**20) for ago in (8, 7)]
    house.windows.kept = [*kept, minute(1000, 6, cpu=0.5, produce_total_p99_ms=12.0, nic_in_bytes_per_s=2.0**21)]
    return house


def at(moment: str) -> datetime:
    return datetime.fromisoformat(moment)


def test_the_api_tells_what_is_measured(house: House) -> None:
    told = house.client.get("/v1/clusters/orders/figures").json()
    (broker,) = told["brokers"]
    assert (broker["broker"], broker["cpu"], broker["produce_total_p99_ms"]) == (1000, 0.5, 12.0)
    assert broker["gc_share"] is None
    assert [p["in_bytes_per_s"] for p in told["traffic"]] == [2.0**20, 2.0**20, 2.0**21]
    assert at(broker["at"]) == START - 6 * MINUTE
    assert told["why_none"] == ""


@pytest.mark.parametrize(
    ("pipeline", "why"),
    [
        (None, "does not say whether it reads metrics"),
        (PipelineStatus(state="running", since=START), "no minute of this cluster is closed yet"),
        (PipelineStatus(state="off", since=START, reason="no Spark"), "metrics are not read: off, no Spark"),
    ],
)
def test_where_nothing_is_measured_it_says_why(house: House, pipeline: PipelineStatus | None, why: str) -> None:
    house.windows.kept = []
    house.pipeline = pipeline
    assert why in house.client.get("/v1/clusters/orders/figures").json()["why_none"]
    assert why in house.client.get("/clusters/orders", headers={"Accept": "text/html"}).text


def test_the_pages_show_it(house: House) -> None:
    overview = house.client.get("/clusters/orders", headers={"Accept": "text/html"}).text
    assert "clients and replication" in overview
    page = house.client.get("/clusters/orders/brokers/1000", headers={"Accept": "text/html"}).text
    for words in ("Measured", "50.0 %", "12.0 ms", "2.0 MiB/s"):
        assert words in page
    other = house.client.get("/clusters/orders/brokers/1001", headers={"Accept": "text/html"}).text
    assert "No minute of the last 20 is in the metric lake." in other


def test_prometheus_is_told_in_base_units_and_nothing_of_what_is_unknown(house: House) -> None:
    told = scraped(house)
    assert value(told, "kedge_broker_cpu_ratio", cluster="orders", broker="1000") == 0.5
    assert value(told, "kedge_broker_produce_p99_seconds", broker="1000") == pytest.approx(0.012)
    assert value(told, "kedge_broker_measured_timestamp_seconds", broker="1000") == (START - 6 * MINUTE).timestamp()
    assert "kedge_broker_gc_ratio" not in told


def test_when_a_broker_is_full_or_busy_is_told_with_its_interval_and_so_is_what_nobody_can_say(house: House) -> None:
    cpu = Trend("cpu", 14, 0.5, 0.03, 0.02, 0.05)
    trends = {1000: (Trend("disk", 3, unknown="3 of 7 days are known"), cpu)}
    house.windows.grown = {house.view().uid: ClusterTrends(START.date(), trends)}
    disk, busy = house.client.get("/v1/clusters/orders/figures").json()["forecasts"]
    assert (disk["figure"], disk["likely"], disk["level"]) == ("disk", None, None)
    assert disk["unknown"]
    assert (busy["earliest"], busy["likely"], busy["latest"]) == pytest.approx((6, 10, 15))
    assert busy["words"] == "at 80% in about 10 days (6 to 15)"
    page = house.client.get("/clusters/orders/brokers/1000", headers={"Accept": "text/html"}).text
    assert "at 80% in about 10 days (6 to 15)" in page
    assert "not known: " in page
    told = scraped(house)
    one = {"cluster": "orders", "broker": "1000"}
    assert value(told, "kedge_forecast_days", **one, figure="cpu", estimate="likely") == pytest.approx(10)
    assert value(told, "kedge_forecast_known", **one, figure="disk") == 0
    assert {s.labels["figure"] for s in told["kedge_forecast_days"]} == {"cpu"}, "unknown is absent"
