"""What a volume does at most is said once it was long all that others waited for, and of no other time."""

import pytest

from agent.disks.saturation import ENOUGH_S, KEPT_S, OVER_S, DiskCounters, SaturationWatch

MIB, DEVICE = 2**20, 7
LONG = int(ENOUGH_S)


def looks(
    watch: SaturationWatch,
    seconds: int,
    *,
    start: int = 0,
    rate: float = 50 * MIB,
    request: int = MIB,
    busy: float = 1.0,
    in_flight: float = 20.0,
    every: int = 3,
) -> float | None:
    """A disk that does the same for so long. Returns what is said of it then."""
    for second in range(start, start + seconds + 1, every):
        finished = int(second * rate / request)
        counters = DiskCounters(finished, finished * request, int(second * in_flight * 1000), int(second * busy * 1000))
        watch.see(float(second), {DEVICE: counters})
    return watch.limit_bytes_per_s(DEVICE)


def test_five_minutes_of_waiting_requests_say_what_it_does() -> None:
    assert looks(SaturationWatch(), LONG) == pytest.approx(50 * MIB, rel=0.02)


def test_less_than_that_says_nothing() -> None:
    watch = SaturationWatch()
    assert looks(watch, LONG - int(OVER_S)) is None
    assert watch.limit_bytes_per_s(8) is None, "nor of another device"


@pytest.mark.parametrize(
    "calm",
    [{"busy": 0.9}, {"in_flight": 3.0}, {"request": 16 * 1024}, {"rate": 0.0}],
    ids=["it rests at times", "few wait", "its operations may be the limit", "nothing ends"],
)
def test_a_disk_that_others_do_not_wait_for_says_nothing(calm: dict[str, float]) -> None:
    assert looks(SaturationWatch(), 3 * LONG, **calm) is None  # type: ignore[arg-type]


def test_a_disk_on_credits_is_told_by_what_it_does_once_they_are_spent() -> None:
    watch = SaturationWatch()
    assert looks(watch, LONG, rate=200 * MIB) == pytest.approx(200 * MIB, rel=0.02)
    later = LONG + int(KEPT_S) + 60
    finished = LONG * 200 + (later - LONG) * 60
    for second in range(LONG, later, 3):
        done = LONG * 200 + (second - LONG) * 60
        watch.see(float(second), {DEVICE: DiskCounters(done, done * MIB, second * 20_000, second * 1000)})
    assert finished
    assert watch.limit_bytes_per_s(DEVICE) == pytest.approx(60 * MIB, rel=0.02)


def test_what_is_older_than_an_hour_says_nothing() -> None:
    watch = SaturationWatch()
    looks(watch, LONG)
    rest = DiskCounters(LONG * 50, LONG * 50 * MIB, LONG * 20_000, LONG * 1000)
    watch.see(LONG + KEPT_S + OVER_S, {DEVICE: rest})
    assert watch.limit_bytes_per_s(DEVICE) is None


def test_a_disk_that_is_gone_or_counts_anew_is_forgotten() -> None:
    gone, anew = SaturationWatch(), SaturationWatch()
    for watch in (gone, anew):
        assert looks(watch, LONG) is not None
    gone.see(LONG + 3.0, {})
    anew.see(LONG + 3.0, {DEVICE: DiskCounters(0, 0, 0, 0)})
    assert gone.limit_bytes_per_s(DEVICE) is None
    assert anew.limit_bytes_per_s(DEVICE) is None
