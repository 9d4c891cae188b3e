"""How far a service came lately, from its vitals: coming on is told at once, standing still only of a long time."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from agent.health.checkup import FORGET_S, PROGRESS_FORGET_S, Checkup
from agent.health.progress import MEASURED_OVER_S, HealthProgress, measure
from agent.health.vitals import Vitals
from agent.wire import ProgressReport, ServiceReport
from tests.unit.agent.vitals_cases import changed

EVERY_S = 15.0
LONG = int(MEASURED_OVER_S / EVERY_S) + 1


def samples(n: int, told: Callable[[int], dict[str, object]]) -> list[Vitals]:
    return [changed(Vitals(at_s=k * EVERY_S, pid=7), **told(k)) for k in range(n)]


def named(recent: Sequence[Vitals]) -> dict[str, HealthProgress]:
    return {p.name: p for p in measure(recent)}


def test_of_a_service_that_tells_nothing_no_progress_is_known() -> None:
    assert measure([]) == ()
    assert measure(samples(1, lambda _: {"metadata_applied": 5})) == ()
    assert measure(samples(LONG, lambda _: {})) == ()


def test_metadata_that_is_applied_slowly_advances_with_what_is_left_and_how_much_closer_that_is() -> None:
    found = named(samples(5, lambda k: {"metadata_applied": 1000 + 300 * k, "metadata_log_end": 9000 + 30 * k}))
    assert found["metadata"] == HealthProgress("metadata", 60.0, 1200.0, left=6920.0, closer=1080.0, position=2200.0)


def test_metadata_of_which_nothing_is_applied_stands_still_only_after_long() -> None:
    stands = samples(LONG, lambda k: {"metadata_applied": 1000, "metadata_log_end": 9000 + 30 * k})
    assert named(stands)["metadata"].advanced == 0.0
    assert named(stands)["metadata"].closer == -30.0 * (LONG - 1)
    assert named(stands[:-1]) == {}, "not known yet"


def test_an_offset_that_stands_still_while_one_large_change_is_applied_is_seen_to_come_on_by_its_partitions() -> None:
    """A topic of thousands of partitions is one change: its offset is told when the last of them is there."""
    found = named(samples(4, lambda k: {"metadata_applied": 1000, "partitions": 30 + 200 * k, "leaders": 10 + 70 * k}))
    assert found["partitions"].advanced == 810.0
    assert "metadata" not in found
    deleting = named(samples(4, lambda k: {"partitions": 4000 - 200 * k, "leaders": 0}))
    assert deleting["partitions"].advanced == 600.0
    none = named(samples(LONG, lambda _: {"partitions": 4000, "leaders": 1300}))
    assert none["partitions"].advanced == 0.0


def test_a_broker_that_starts_opens_its_logs_and_a_large_one_by_its_segments() -> None:
    found = named(samples(3, lambda k: {"logs_to_recover": 400 - 90 * k, "segments_to_recover": 2}))
    assert found["recovery"] == HealthProgress("recovery", 30.0, 180.0, left=220.0, closer=180.0)
    large = named(samples(3, lambda k: {"logs_to_recover": 1, "segments_to_recover": 900 - k}))
    assert large["recovery"].advanced > 0
    assert "recovery" not in named(samples(3, lambda k: {"logs_to_recover": 5 if k < 2 else None}))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("replicas", lambda k: {"replica_lag": 9000 - 500 * k}),
        ("heap", lambda k: {"old_used_bytes": 950 - 10 * k, "old_max_bytes": 1000}),
        ("threads", lambda k: {"threads": 990 - 10 * k, "threads_max": 1000}),
        ("descriptors", lambda k: {"descriptors": 990 - 10 * k, "descriptors_max": 1000}),
        ("uncleanable", lambda k: {"uncleanable_partitions": 20 - 2 * k}),
        ("collecting", lambda k: {"collecting_ms_total": int(1000 * (12 * k - k * k))}),
    ],
)
def test_what_recedes_advances_and_what_grows_does_not(name: str, told: Callable[[int], dict[str, object]]) -> None:
    recedes = samples(5, told)
    assert named(recedes)[name].advanced > 0
    assert (named(recedes)[name].closer or 0) > 0
    values = list(reversed(recedes))
    if name == "collecting":
        values = samples(5, lambda k: {"collecting_ms_total": 1000 * k * k})
    grows = [replace(v, at_s=k * EVERY_S) for k, v in enumerate(values)]
    assert name not in named(grows), "that it does not recede is known only after long"


class _Metrics:
    """A metrics port that is asked for samples."""

    def __init__(self) -> None:
        self.told: dict[str, object] | None = {}

    def look(self, checkup: Checkup, at_s: float, *, serves: bool = True) -> None:
        def take() -> Vitals | None:
            return None if self.told is None else changed(Vitals(at_s=at_s, pid=7), **self.told)

        checkup.look(at_s, 7, take, serves=serves)


def test_of_a_broker_that_starts_progress_is_measured_and_nothing_found_wrong() -> None:
    checkup, port = Checkup(EVERY_S), _Metrics()
    for k in range(4):
        port.told = {"logs_to_recover": 90 - 20 * k, "offline_log_dirs": 1}
        port.look(checkup, k * EVERY_S, serves=False)
    assert [p.name for p in checkup.progress] == ["recovery"]
    assert [f.name for f in checkup.findings] == []
    port.look(checkup, 4 * EVERY_S - 10)
    assert [f.name for f in checkup.findings] == ["log_dir_failed"], "looked at as soon as it serves"


def test_how_far_it_came_is_not_known_any_more_soon_after_it_falls_silent() -> None:
    checkup, port = Checkup(EVERY_S), _Metrics()
    for k in range(3):
        port.told = {"metadata_applied": 100 * k, "offline_log_dirs": 1}
        port.look(checkup, k * EVERY_S)
    assert checkup.progress
    port.told = None
    port.look(checkup, 3 * EVERY_S)
    assert checkup.progress
    port.look(checkup, 2 * EVERY_S + PROGRESS_FORGET_S + 1)
    assert checkup.progress == ()
    assert checkup.findings, "what was wrong is remembered longer"
    port.look(checkup, 2 * EVERY_S + FORGET_S + 1)
    assert checkup.findings == ()


def test_a_report_of_an_older_agent_tells_no_progress_and_one_of_a_newer_agent_may_tell_more() -> None:
    older = {"name": "broker", "state": "running", "start_id": "s-1", "since": "2026-01-02T12:00:00Z"}
    assert ServiceReport.model_validate(older).progress == ()
    newer = {**older, "progress": [{"name": "of tomorrow", "over_s": 60, "advanced": 3, "unit": "records"}]}
    (told,) = ServiceReport.model_validate(newer).progress
    assert told == ProgressReport(name="of tomorrow", over_s=60, advanced=3)
