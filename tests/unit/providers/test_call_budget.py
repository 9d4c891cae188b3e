"""One bucket of calls per account and region: bursts pass, more waits, what the cloud says counts above our figures."""

import threading
from dataclasses import dataclass, field

import pytest

from providers.base import Place
from providers.callbudget import JITTER, CallBudget, CallRate, TokenBucket, retry_after_s
from providers.catalogfile import sold_by
from providers.errors import RateLimited

RATE = CallRate(burst=10, per_s=2.0)


@dataclass
class Clock:
    now: float = 100.0
    waits: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


def bucket(clock: Clock, rate: CallRate | None = RATE, *, jitter: float = 0.0) -> TokenBucket:
    return TokenBucket("aws/production/eu-west-1", rate, clock, clock.wait, lambda: jitter)


def test_a_burst_passes_and_the_next_call_waits_for_its_token() -> None:
    clock = Clock()
    calls = bucket(clock)
    for _ in range(10):
        calls.take(patience_s=0)
    assert clock.waits == []
    calls.take(patience_s=5)
    assert clock.waits == [0.5]


def test_a_call_that_would_wait_too_long_is_refused_at_once_and_costs_nothing() -> None:
    clock = Clock()
    calls = bucket(clock)
    calls.take(10, patience_s=0)
    with pytest.raises(RateLimited, match="aws/production/eu-west-1: the next 4 calls are allowed in 2.0 s"):  # noqa: RUF043
        calls.take(4, patience_s=1)
    clock.now += 2
    calls.take(4, patience_s=0)


def test_a_run_of_more_calls_than_the_bucket_holds_is_let_through_and_paid_for_afterwards() -> None:
    clock = Clock()
    calls = bucket(clock)
    calls.take(30, patience_s=0)
    calls.take(patience_s=60)
    assert clock.waits == [10.5], "20 owed and 1 more, at 2 a second"


def test_a_throttle_makes_everybody_wait_as_long_as_the_cloud_says_and_a_little_more() -> None:
    clock = Clock()
    calls = bucket(clock, jitter=1.0)
    calls.pause(4.0)
    calls.take(patience_s=10)
    assert clock.waits == [4.0 * (1 + JITTER)]


def test_without_a_figure_only_pauses_count() -> None:
    clock = Clock()
    calls = bucket(clock, None)
    calls.take(10_000, patience_s=0)
    assert clock.waits == []
    calls.pause(2.0)
    with pytest.raises(RateLimited):
        calls.take(patience_s=1)


def test_a_stopped_run_does_not_wait() -> None:
    clock, stop = Clock(), threading.Event()
    stop.set()
    calls = bucket(clock)
    calls.take(30, patience_s=0)
    calls.take(patience_s=60, stop=stop)
    assert clock.waits == []


def test_places_of_one_account_and_region_share_and_others_do_not() -> None:
    budget = CallBudget(RATE)
    here = budget.of(Place("aws", "eu-west-1", "production"))
    assert budget.of(Place("aws", "eu-west-1", "production")) is here
    assert budget.of(Place("aws", "eu-west-1", "test")) is not here
    assert budget.of(Place("aws", "eu-central-1", "production")) is not here


@pytest.mark.parametrize(("header", "expected"), [(None, None), ("", None), ("7", 7.0), ("Fri, 31 Dec 1999", None)])
def test_retry_after_is_read_where_it_is_a_number(header: str | None, expected: float | None) -> None:
    assert retry_after_s(header) == expected


def test_the_figures_of_aws_have_a_source() -> None:
    aws = sold_by("aws")
    assert aws.call_rate() == CallRate(100, 20.0)
    assert aws.raw["calls"]["source"] in aws.raw["sources"]
