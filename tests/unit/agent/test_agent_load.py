"""What clients of a broker feel in these seconds, from counters since its start."""

import os
from pathlib import Path

import pytest

from agent.disks.saturation import DiskCounters
from agent.load import LoadCounters, RecentLoad, disk_counters

READ = {"produce_p99_ms": 80.0, "produce_requests_total": 0.0, "produce_mean_ever_ms": 0.0, "request_queue": 3.0}


def look(at_s: float, requests: float = 0.0, mean_ever_ms: float = 0.0) -> LoadCounters:
    return LoadCounters(at_s, 7, requests, mean_ever_ms)


def test_the_mean_is_of_the_last_seconds_not_of_all_time() -> None:
    load = RecentLoad()
    load.figures(look(0, 1000, 2.0), READ)

    found = load.figures(look(15, 1100, (2000 + 100 * 50) / 1100), READ)

    assert found["produce_mean_ms"] == pytest.approx(50.0)
    assert found["produce_p99_ms"] == 80.0


def test_a_p99_of_requests_that_come_no_more_is_left_out() -> None:
    load = RecentLoad()
    load.figures(look(0, 1000, 2.0), READ)

    found = load.figures(look(15, 1009, 2.0), READ)

    assert "produce_p99_ms" not in found
    assert "produce_mean_ms" not in found
    assert found["request_queue"] == 3.0


def test_two_looks_a_moment_apart_say_nothing() -> None:
    load = RecentLoad()
    load.figures(look(0, 1000, 2.0), READ)

    assert "produce_mean_ms" not in load.figures(look(5, 2000, 2.0), READ)
    assert "produce_mean_ms" in load.figures(look(16, 3000, 2.0), READ)


def test_another_process_begins_anew() -> None:
    load = RecentLoad()
    load.figures(look(0, 1000, 2.0), READ)
    other = LoadCounters(20, 8, 2000, 2.0)

    assert "produce_mean_ms" not in load.figures(other, READ)


def test_what_was_seen_a_minute_ago_is_not_of_now() -> None:
    load = RecentLoad()
    load.figures(look(0, 1000, 2.0), READ)

    assert "produce_mean_ms" not in load.figures(look(61, 9000, 2.0), READ)


def test_the_busiest_disk_is_told() -> None:
    load = RecentLoad()
    load.figures(LoadCounters(0, 7, None, None, {1: DiskCounters(10, 0, 0, 0), 2: DiskCounters(10, 0, 0, 0)}), {})
    later = {1: DiskCounters(20, 0, 100, 1500), 2: DiskCounters(110, 0, 9000, 12_000)}

    found = load.figures(LoadCounters(15, 7, None, None, later), {})

    assert found == {"disk_busy": pytest.approx(0.8), "disk_wait_ms": pytest.approx(90.0)}


def test_counters_are_linuxs_of_the_disk_a_directory_is_on(tmp_path: Path) -> None:
    device = tmp_path.stat().st_dev
    stat = tmp_path / "block" / f"{os.major(device)}:{os.minor(device)}" / "stat"
    stat.parent.mkdir(parents=True)
    stat.write_text("     100   1  800  40   300  7  2400  260   0   290   300   0  0  0  0\n")

    assert disk_counters([tmp_path], block=tmp_path / "block") == {device: DiskCounters(400, 3200 * 512, 300, 290)}


def test_a_disk_the_kernel_does_not_count_is_not_known(tmp_path: Path) -> None:
    assert disk_counters([tmp_path, tmp_path / "missing"], block=tmp_path / "none") == {}
