"""What brokers copy by TLS at most."""

import math

import pytest

from planner.tls_cost import tls_rates


@pytest.mark.parametrize(
    ("fetchers", "processors", "into", "out"),
    [
        (1, 1, 80.6e6, 142.9e6),
        (1, 2, 120e6, 285.7e6),
        (2, 4, 240e6, 571.4e6),
        (4, 16, 480e6, 2285.7e6),
        (1, None, 120e6, math.inf),
    ],
)
def test_the_least_of_fetchers_and_half_of_the_processors_each_way(
    fetchers: int, processors: int | None, into: float, out: float
) -> None:
    rates = tls_rates(fetchers=fetchers, processors=processors)
    assert rates.into == pytest.approx(into, rel=1e-3)
    assert rates.out == pytest.approx(out, rel=1e-3)


def test_taking_and_giving_at_once_needs_no_more_processors_than_there_are() -> None:
    rates = tls_rates(fetchers=16, processors=8)
    assert (rates.into * 6.2 + rates.out * 3.5) / 1e9 == pytest.approx(8)
