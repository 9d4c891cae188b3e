"""What keeps the metric pipeline alive, around a fake process that speaks its frames and misbehaves. No Spark here."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from spark.pipeline.sources import MetricSource, Sources
from spark.pipeline.status import PipelineStatus
from spark.pipeline.supervisor import PipelineSettings, PipelineSupervisor
from spark.supervisor import WorkerSettings
from tests.waiting import until

FAKE = Path(__file__).with_name("fake_pipeline.py")
ONE = MetricSource("c1", ("b1:9092",), "m", only="c1")
TWO = MetricSource("c2", ("b2:9092",), "m", only="c2")
Start = Callable[..., PipelineSupervisor]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[PipelineSupervisor] = []

    def begin(behaviour: str, *sources: MetricSource, why_off: str = "", **worker: float) -> PipelineSupervisor:
        state = tmp_path / "state"
        state.mkdir(exist_ok=True)
        settings = WorkerSettings(
            scratch=tmp_path / "scratch",
            log=tmp_path / "log",
            command=(sys.executable, str(FAKE), behaviour, str(state)),
            redact=lambda text: text.replace("hunter2", "***"),
            **{"first_backoff_s": 0.05, **worker},  # type: ignore[arg-type]
        )
        supervisor = PipelineSupervisor(PipelineSettings(worker=settings, lake="/lake", why_off=why_off))
        started.append(supervisor)
        supervisor.want(sources)
        return supervisor

    yield begin
    for supervisor in started:
        supervisor.stop()


def lives(tmp_path: Path) -> list[int]:
    return [int(p.read_text()) for p in sorted((tmp_path / "state").glob("life-*"))]


def asked(tmp_path: Path) -> list[list[str]]:
    file = tmp_path / "state" / "asked"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def reading(supervisor: PipelineSupervisor, *sources: MetricSource) -> PipelineStatus:
    """Waits until these are read."""

    def look() -> PipelineStatus | None:
        status = supervisor.status()
        is_so = status.state == "running" and [s.name for s in status.streams] == [s.name for s in sources]
        return status if is_so else None

    return until(look, "these topics to be read", told=lambda: str(supervisor.status()))


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_nothing_is_started_before_there_is_something_to_read(start: Start, tmp_path: Path) -> None:
    supervisor = start("well")
    supervisor.want((), "no cluster has brokers that serve yet")
    assert (supervisor.status().state, supervisor.status().reason) == ("idle", "no cluster has brokers that serve yet")
    assert lives(tmp_path) == []


def test_where_it_is_off_it_says_why_and_stays_so(start: Start, tmp_path: Path) -> None:
    supervisor = start("well", ONE, why_off="`pyspark` is not installed")
    assert (supervisor.status().state, supervisor.status().reason) == ("off", "`pyspark` is not installed")
    supervisor.stop()
    assert supervisor.status().state == "off"
    assert lives(tmp_path) == []


def test_a_topic_more_or_less_takes_no_restart(start: Start, tmp_path: Path) -> None:
    supervisor = start("well", ONE)
    first = reading(supervisor, ONE)
    supervisor.want((ONE, TWO))
    assert reading(supervisor, ONE, TWO).pid == first.pid
    supervisor.want((TWO,))
    assert reading(supervisor, TWO).pid == first.pid
    assert asked(tmp_path) == [["c1"], ["c1", "c2"], ["c2"]]


def test_a_process_that_dies_is_started_again_and_told_anew_what_to_read(start: Start, tmp_path: Path) -> None:
    supervisor = start("dies", ONE)
    status = reading(supervisor, ONE)
    assert status.restarts == 1
    assert "is gone" in status.error
    assert status.error_at is not None
    assert len(lives(tmp_path)) == 2
    assert asked(tmp_path) == [["c1"], ["c1"]]


def test_starts_that_fail_are_told_while_they_last_and_the_last_error_is_kept(start: Start, tmp_path: Path) -> None:
    supervisor = start("no session", ONE, first_backoff_s=0.3)
    away = until(lambda: supervisor.status() if supervisor.status().state == "backing off" else None, "a failed start")
    assert away.reason == "the Spark session could not be started: JavaGatewayExited: no Java"
    assert "is started again" in away.problem(away.since)
    status = reading(supervisor, ONE)
    assert (status.restarts, status.error, status.problem(status.since)) == (2, away.reason, "")
    assert len(lives(tmp_path)) == 3


def test_a_process_that_gives_up_is_replaced_and_no_secret_is_told(start: Start) -> None:
    status = reading(start("gives up", ONE), ONE)
    assert status.restarts == 1
    assert status.error == "it gave up: Py4JNetworkError: Java is gone, password=***"


def test_a_process_that_says_nothing_is_taken_for_hung(start: Start, tmp_path: Path) -> None:
    supervisor = start("hangs", ONE, silence_timeout_s=1.0)
    until(lambda: supervisor.status().restarts, "a second life", told=lambda: str(supervisor.status()))
    assert "was silent" in supervisor.status().error
    assert not is_running(lives(tmp_path)[0])


@pytest.mark.parametrize("sources", [(), (ONE,)], ids=["nothing left to read", "stopped"])
def test_nothing_of_it_is_left(start: Start, tmp_path: Path, sources: Sources) -> None:
    supervisor = start("well", ONE)
    pid = reading(supervisor, ONE).pid
    assert pid is not None
    if sources:
        supervisor.stop()
        assert supervisor.status().state == "stopped"
    else:
        supervisor.want((), "every cluster is deleted")
        until(lambda: supervisor.status().state == "idle", "its end")
    assert not is_running(pid)
    assert list((tmp_path / "scratch").iterdir()) == []
