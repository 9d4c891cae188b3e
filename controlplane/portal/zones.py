"""The time zone a person reads times in: chosen on the account page, kept in a cookie of its own, UTC for all others.

It holds for what a page prints and for what is written into its fields; the API speaks UTC alone. A cookie is enough:
it is a habit of the screen one sits at, no right and no secret.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from fastapi import Request

from controlplane.api.moments import moment_in
from controlplane.api.problems import ApiError
from controlplane.runtime.quantities import moment

COOKIE = "kedge_zone"
UTC_NAME = "UTC"
KEPT_S = 400 * 24 * 3600
"""As long as browsers keep a cookie at most."""

_zone: ContextVar[str] = ContextVar("zone", default=UTC_NAME)


def zone_of(request: Request) -> str:
    """What this browser chose; UTC where it chose nothing, or what is no zone here."""
    chosen = request.cookies.get(COOKIE, UTC_NAME)
    return chosen if chosen in zone_names() else UTC_NAME


@cache
def zone_names() -> frozenset[str]:
    """Every zone of the IANA database of this machine; UTC is always there."""
    return frozenset({*available_timezones(), UTC_NAME}) - {"localtime"}


@contextmanager
def printed_in(zone: str) -> Iterator[None]:
    """Times that are printed in this block are of that zone."""
    token = _zone.set(zone)
    try:
        yield
    finally:
        _zone.reset(token)


def moment_here(then: datetime) -> str:
    """`2026-01-02 04:04:05 +01:00`, to the second, in the zone of the page; in UTC `2026-01-02 03:04:05Z`. The offset
    is that of that day; the foot of the page names the zone. Where the years end it stays UTC."""
    name = _zone.get()
    if name == UTC_NAME:
        return moment(then)
    try:
        here = then.astimezone(zone_called(name)).isoformat(" ", "seconds")
        return f"{here[:19]} {here[19:]}"
    except OverflowError:
        return moment(then)


def moment_of_field(request: Request, text: str) -> datetime | None:
    """A moment as somebody wrote it into a field; without an offset it is of the zone they read times in."""
    return moment_in(text, zone_called(zone_of(request)))


@dataclass(frozen=True, slots=True)
class Span:
    """From when until when somebody asked for; None where they named none, or what is no moment: `problem` says so."""

    since: datetime | None
    until: datetime | None
    problem: str = ""

    @property
    def sound(self) -> "Span":
        """The same. Raises ApiError 422 where it has a problem: a file has no place beside its rows to say it."""
        if self.problem:
            raise ApiError(
                422, "no-such-moment", self.problem, next_step="Fix it, or leave it out: nothing was looked for."
            )
        return self


def span_of_fields(request: Request, since: str, until: str) -> Span:
    """What two fields of a form say, each as `moment_of_field`. An empty one names no moment."""
    begins, ends = moment_of_field(request, since), moment_of_field(request, until)
    unread = [text for text, found in ((since, begins), (until, ends)) if text and found is None]
    return Span(begins, ends, f"{unread[0]!r} is not a time: write it as in 2026-01-31T14:00" if unread else "")


def zone_called(name: str) -> tzinfo:
    """The zone of one of `zone_names`."""
    return UTC if name == UTC_NAME else ZoneInfo(name)
