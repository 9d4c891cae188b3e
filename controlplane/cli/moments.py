"""Durations and moments as people type them: `90`, `10m`, `1h30m`, `2d`, `2026-01-02T03:04Z`."""

import re
from datetime import datetime, timedelta

from controlplane.cli import exits
from controlplane.cli.errors import CliError

_DURATION = re.compile(r"(?=.)(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9})s)?", re.ASCII)
_NUMBER = re.compile(r"\d{1,9}(\.\d{1,3})?", re.ASCII)


def seconds_of(text: str, *, option: str) -> float:
    """Seconds from a number or `1d2h3m4s`. Raises CliError naming the option."""
    found = _span(text)
    if found is None:
        raise CliError(
            f"`{text}` is not a duration",
            where=option,
            next_step="give seconds, or hours, minutes and seconds as in 90s, 10m, 1h30m",
            exit_code=exits.USAGE,
        )
    return found


def moment_of(text: str, *, now: datetime, option: str) -> datetime:
    """A moment from a duration from now on, or from an ISO 8601 time; one without a zone is local time.

    Raises CliError, also for a moment that has passed.
    """
    found = _span(text)
    then = now + timedelta(seconds=found) if found is not None else _iso(text, option)
    if then <= now:
        raise CliError(f"`{text}` has passed", where=option, next_step="give a later time", exit_code=exits.USAGE)
    return then


def moment_ago(text: str, *, now: datetime, option: str) -> datetime:
    """A moment from a duration before now, or from an ISO 8601 time; one without a zone is local time.

    Raises CliError.
    """
    found = _span(text)
    return now - timedelta(seconds=found) if found is not None else _iso(text, option)


def _span(text: str) -> float | None:
    if _NUMBER.fullmatch(text):
        return float(text)
    found = _DURATION.fullmatch(text)
    if found is None:
        return None
    days, hours, minutes, rest = (int(part or 0) for part in found.groups())
    return 86400.0 * days + 3600 * hours + 60 * minutes + rest


def _iso(text: str, option: str) -> datetime:
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise CliError(
            f"`{text}` is neither a duration nor a time",
            where=option,
            next_step="as in 2h, or 2026-01-31T18:00:00+01:00",
            exit_code=exits.USAGE,
        ) from None
    return parsed.astimezone() if parsed.tzinfo is None else parsed
