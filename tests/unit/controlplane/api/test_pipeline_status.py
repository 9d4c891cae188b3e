"""How the metric pipeline does, on the page Loop, in the API and in `doctor`."""

from dataclasses import replace
from datetime import timedelta

import pytest

from spark.pipeline.status import PipelineStatus, StreamStatus
from tests.unit.controlplane.api.portal_house import START, House
from tests.unit.controlplane.api.test_loop_routes import with_loop
from tests.unit.controlplane.portal.test_portal_roles_matrix import OURS

RUNNING = PipelineStatus(state="running", since=START, pid=4711, memory_bytes=3 * 2**30, lake="/home/kedge/lake")
READ = StreamStatus(
    name="", topic="__kedge_metrics", state="reading", batches=4, records=12, behind=0, batch_s=1.4, batch_at=START
)


@pytest.fixture
def house() -> House:
    house = House()
    house.apply(OURS)
    return house


def test_the_loop_tells_what_is_read_by_the_name_of_its_cluster(house: House) -> None:
    streams = (replace(READ, name=house.view().uid), replace(READ, name=f"shared-{house.view().uid}"))
    client = with_loop(house, pipeline=lambda: replace(RUNNING, streams=streams))
    told = client.get("/v1/loop").json()["metrics"]
    assert (told["state"], told["pid"], told["restarts"], told["problem"]) == ("running", 4711, 0, "")
    assert [(s["name"], s["behind"]) for s in told["streams"]] == [("orders", 0), ("all clusters, at orders", 0)]
    page = client.get("/loop", headers={"Accept": "text/html"}).text
    for words in ("Metric pipeline", "/home/kedge/lake", "3.0 GiB resident", "all clusters, at orders", "1.4 s"):
        assert words in page


FAILED = replace(READ, name="c1", state="failed", error="no such topic", failures=2)


@pytest.mark.parametrize(
    ("status", "well", "told"),
    [
        pytest.param(replace(RUNNING, streams=(READ,)), True, "running: 1 topics into /home/kedge/lake", id="well"),
        pytest.param(
            PipelineStatus(state="idle", since=START, reason="no cluster has brokers that serve yet"),
            True,
            "idle: no cluster has brokers",
            id="nothing to read",
        ),
        pytest.param(
            PipelineStatus(state="off", since=START, reason="`pyspark` is not installed: pip install 'kedge[spark]'"),
            None,
            "off: `pyspark` is not installed",
            id="no Spark",
        ),
        pytest.param(
            PipelineStatus(state="backing off", since=START, reason="the process (pid 9) died"),
            False,
            "is started again: the process (pid 9) died",
            id="its process dies",
        ),
        pytest.param(
            replace(RUNNING, streams=(READ, FAILED)), False, "c1 cannot be read: no such topic", id="one fails"
        ),
        pytest.param(
            replace(RUNNING, streams=(replace(READ, batch_at=START - timedelta(minutes=6)),)),
            False,
            "has had no batch since",
            id="one stands still",
        ),
        pytest.param(
            replace(RUNNING, housekeeping_error="disk full"), False, "not tidied up: disk full", id="housekeeping fails"
        ),
    ],
)
def test_doctor_says_whether_metrics_are_read(
    house: House, status: PipelineStatus, well: bool | None, told: str
) -> None:
    house.pipeline = status
    (found,) = [f for f in house.client.get("/v1/doctor").json()["server"] if f["what"] == "metric pipeline"]
    assert found["well"] is well
    assert told in found["told"]
    assert bool(found["what_next"]) is (well is not True)
