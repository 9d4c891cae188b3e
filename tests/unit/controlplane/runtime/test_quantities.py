"""Bytes, durations and moments as people read and type them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from controlplane.cli import exits
from controlplane.cli.errors import CliError
from controlplane.cli.moments import moment_of, seconds_of
from controlplane.runtime.quantities import ago, human_seconds, moment, since
from events.quantities import counted

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (0.44, "0.4 s"),
        (3, "3 s"),
        (59.6, "1 min"),
        (125, "2 min 5 s"),
        (3600, "1 h"),
        (3720, "1 h 2 min"),
        (3 * 86400 + 4 * 3600 + 59, "3 d 4 h"),
        (-5, "-5 s"),
    ],
)
def test_seconds(seconds: float, words: str) -> None:
    assert human_seconds(seconds) == words


def test_moments_are_shown_in_utc_and_say_so() -> None:
    then = datetime(2026, 1, 2, 4, 4, 5, tzinfo=timezone(timedelta(hours=2)))
    assert moment(then) == "2026-01-02 02:04:05Z"
    assert since(then, NOW) == "2026-01-02 02:04:05Z (1 h ago)"
    assert (since(None, NOW), ago(None, NOW)) == ("-", "never")


def test_a_clock_that_is_ahead_makes_no_negative_age() -> None:
    assert ago(NOW + timedelta(seconds=3), NOW) == "0 s ago"


def test_nouns_are_counted() -> None:
    assert (counted(1, "node"), counted(0, "node"), counted(2, "node")) == ("1 node", "0 nodes", "2 nodes")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("90", 90), ("1.5", 1.5), ("90s", 90), ("10m", 600), ("1h30m", 5400), ("2d", 172800), ("1d1s", 86401)],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert seconds_of(text, option="--timeout") == seconds


@pytest.mark.parametrize("text", ["", "soon", "-1", "10 m", "m10", "1m1h", "1e9"])
def test_what_is_no_duration_is_a_usage_error_with_an_example(text: str) -> None:
    with pytest.raises(CliError, match="not a duration") as refused:
        seconds_of(text, option="--timeout")
    assert refused.value.exit_code == exits.USAGE
    assert "10m" in refused.value.next_step


def test_until_takes_a_duration_or_a_time() -> None:
    assert moment_of("2h", now=NOW, option="--until") == NOW + timedelta(hours=2)
    parsed = moment_of("2026-01-31T18:00:00+01:00", now=NOW, option="--until")
    assert parsed == datetime(2026, 1, 31, 17, tzinfo=UTC)


def test_a_time_without_a_zone_is_local_and_never_naive() -> None:
    assert moment_of("2026-06-01T12:00", now=NOW, option="--until").tzinfo is not None


@pytest.mark.parametrize("text", ["2026-01-01T00:00:00Z", "0"])
def test_a_time_that_has_passed_is_refused(text: str) -> None:
    with pytest.raises(CliError, match="has passed"):
        moment_of(text, now=NOW, option="--until")


def test_what_is_no_time_is_refused() -> None:
    with pytest.raises(CliError, match="neither a duration nor a time"):
        moment_of("tomorrow", now=NOW, option="--until")
