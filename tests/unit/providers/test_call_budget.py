"""One bucket of calls per account and region: bursts pass, more waits, what the cloud says counts above our figures."""

import threading
import time
from dataclasses import replace

import pytest

from providers.base import Place
from providers.call_budget import JITTER, CallBudget, CallRate, TokenBucket, retry_after_s
from providers.catalog_file import sold_by
from providers.errors import RateLimited
from tests.fakes.clock import Clock

RATE = CallRate(burst=10, per_s=2.0)


def bucket(clock: Clock, rate: CallRate | None = RATE, *, jitter: float = 0.0) -> TokenBucket:
    return TokenBucket("aws/production/eu-west-1", rate, clock, clock.sleep, lambda: jitter)


def test_a_burst_passes_and_the_next_call_waits_for_its_token() -> None:
    clock = Clock()
    calls = bucket(clock)
    for _ in range(10):
        calls.take(patience_s=0)
    assert clock.slept == []
    calls.take(patience_s=5)
    assert clock.slept == [0.5]


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
    assert clock.slept == [10.5], "20 owed and 1 more, at 2 a second"


def test_a_throttle_makes_everybody_wait_as_long_as_the_cloud_says_and_a_little_more() -> None:
    clock = Clock()
    calls = bucket(clock, jitter=1.0)
    calls.pause(4.0)
    calls.take(patience_s=10)
    assert clock.slept == [4.0 * (1 + JITTER)]


def test_without_a_figure_only_pauses_count() -> None:
    clock = Clock()
    calls = bucket(clock, None)
    calls.take(10_000, patience_s=0)
    assert clock.slept == []
    calls.pause(2.0)
    with pytest.raises(RateLimited):
        calls.take(patience_s=1)


def test_a_stopped_run_does_not_wait() -> None:
    clock, stop = Clock(), threading.Event()
    stop.set()
    calls = bucket(clock)
    calls.take(30, patience_s=0)
    calls.take(patience_s=60, stop=stop)
    assert clock.slept == []


def test_regions_of_an_account_share_where_the_cloud_counts_them_together() -> None:
    budget = CallBudget(RATE)
    here = budget.of(Place("hetzner", "eu-central", "production"))
    assert budget.of(Place("hetzner", "us-east", "production")) is here
    assert budget.of(Place("hetzner", "eu-central", "test")) is not here


def test_places_of_one_account_and_region_share_and_others_do_not() -> None:
    budget = CallBudget(replace(RATE, by_region=True))
    here = budget.of(Place("aws", "eu-west-1", "production"))
    assert budget.of(Place("aws", "eu-west-1", "production")) is here
    assert budget.of(Place("aws", "eu-west-1", "test")) is not here
    assert budget.of(Place("aws", "eu-central-1", "production")) is not here


@pytest.mark.parametrize(
    ("header", "expected"),
    [(None, None), ("", None), ("7", 7.0), ("Fri, 31 Dec 1999 23:59:59 GMT", 0.0), ("soon", None)],
)
def test_retry_after_is_a_number_or_a_date(header: str | None, expected: float | None) -> None:
    assert retry_after_s(header) == expected


def test_what_the_cloud_has_left_counts_where_others_call_for_the_account_too() -> None:
    clock = Clock()
    calls = bucket(clock)
    calls.heard({"RateLimit-Remaining": "3"}, throttled=False)
    calls.take(3, patience_s=0)
    with pytest.raises(RateLimited):
        calls.take(patience_s=0)


def test_a_reset_is_waited_for_unless_it_is_when_everything_is_allowed_again() -> None:
    clock, later = Clock(), {"ratelimit-reset": str(int(time.time()) + 3000)}
    calls = bucket(clock)
    calls.heard(later, throttled=True)
    with pytest.raises(RateLimited, match=r"allowed in (29|30)"):
        calls.take(patience_s=60)
    filled = bucket(clock, replace(RATE, reset_is_full=True))
    filled.heard(later, throttled=True)
    filled.take(patience_s=60)
    assert clock.slept == [1.0]


@pytest.mark.parametrize(
    ("cloud", "rate"),
    [
        ("aws", CallRate(100, 20.0, by_region=True)),
        ("azure", CallRate(250, 25.0)),
        ("digitalocean", CallRate(160, 1.34)),
        ("google", CallRate(300, 20.0)),
        ("hetzner", CallRate(3600, 1.0, reset_is_full=True)),
    ],
)
def test_the_figures_of_a_cloud_have_a_source(cloud: str, rate: CallRate) -> None:
    sold = sold_by(cloud)
    assert sold.call_rate() == rate
    assert sold.raw["calls"]["source"] in sold.raw["sources"]


def test_no_window_of_a_cloud_that_counts_by_windows_ever_sees_more_than_it_allows() -> None:
    for cloud, allowed, window_s in (("digitalocean", 250, 60), ("digitalocean", 5000, 3600), ("google", 1500, 60)):
        rate = sold_by(cloud).call_rate()
        assert rate is not None
        assert rate.burst + rate.per_s * window_s <= allowed


def test_nobody_has_a_figure_of_upcloud() -> None:
    assert sold_by("upcloud").call_rate() is None
