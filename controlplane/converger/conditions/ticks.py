"""The condition `TickFailing`: the ticks of a cluster fail again and again, whatever makes them. Pure.

It stands outside the decision of a tick, which may be what fails: the loop records it when ticks fail, and takes it
away with the first one that succeeds. In between a decision leaves it, and `Converged`, as they are.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from controlplane.cluster.view import ClusterView
from controlplane.cluster.wait_reasons import NEXT
from controlplane.kafka.errors import KafkaFault
from events import facts
from events.errors import EventsError
from providers.errors import ProviderError

TICK_FAILING = "TickFailing"

IN_A_ROW = 3
"""Failures before people are told: one or two are a moment's trouble, and tried again within seconds."""

REPORTED_AFTER = timedelta(seconds=30)

_LONGEST = 400


@dataclass(frozen=True, slots=True)
class TickFailures:
    """Failed ticks of a cluster in a row, since the last that succeeded.

    `doing` is what the last one was about, to follow "while". `reason` is its kind and `alike` how many of the last
    ones in a row had it: an error whose words differ each time is one kind.
    """

    since: datetime
    count: int = 0
    reason: str = ""
    alike: int = 0
    error: str = ""
    doing: str = ""

    def and_another(self, error: Exception, doing: str) -> "TickFailures":
        reason = reason_of(error)
        alike = self.alike + 1 if reason == self.reason else 1
        return replace(
            self, count=self.count + 1, reason=reason, alike=alike, error=words_of(error, reason), doing=doing
        )


def reason_of(error: Exception) -> str:
    """The kind of an error that ended a tick."""
    if isinstance(error, KafkaFault):
        return "KafkaFailed"
    if isinstance(error, ProviderError):
        return "CloudFailed"
    return "StoreFailed" if isinstance(error, EventsError) else "Unexpected"


def words_of(error: Exception, reason: str) -> str:
    """In one line. What nobody expected is told with its class: the words of a `KeyError` alone are a bare name."""
    said = " ".join(str(error).split())
    words = said if said and reason != "Unexpected" else f"{type(error).__name__}: {said}".removesuffix(": ")
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 3]}..."


def tick_failing(view: ClusterView, failed: TickFailures, now: datetime) -> facts.ConditionChanged | None:
    """The condition after a failure: None where people need not be told yet, or were told of this kind already."""
    if view.deleted or failed.count < IN_A_ROW or now - failed.since < REPORTED_AFTER:
        return None
    known = view.conditions.get(TICK_FAILING)
    if known is not None and known.status and (known.reason == failed.reason or failed.alike < IN_A_ROW):
        return None
    since = f"since {failed.since:%Y-%m-%d %H:%M:%S} UTC"
    message = (
        f"each tick fails {since}, {failed.count} in a row, the last one while {failed.doing}: {failed.error}. Nothing "
        f"else is done for this cluster until one succeeds; it is tried every half minute. {NEXT}{_next(view, failed)}"
    )
    return facts.ConditionChanged(TICK_FAILING, True, failed.reason, message)


def tick_works(view: ClusterView) -> facts.ConditionChanged | None:
    """The condition after a tick that succeeded: None where it did not stand."""
    known = view.conditions.get(TICK_FAILING)
    return facts.ConditionChanged(TICK_FAILING, False, "Free", "") if known is not None and known.status else None


def _next(view: ClusterView, failed: TickFailures) -> str:
    """What is unexpected often came with the last change: who declared it finds it in the history."""
    return f"kedge events {view.name}" if failed.reason == "Unexpected" else "kedge loop"
