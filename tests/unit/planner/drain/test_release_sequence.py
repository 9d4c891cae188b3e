"""In which order drained brokers that share targets are emptied."""

import numpy as np

from planner.drain.solver.sequence import soonest_free


def test_a_broker_that_waits_for_its_own_long_log_lets_the_others_pass() -> None:
    held, longest_s = np.array([10.0, 11.0, 12.0]), np.array([30.0, 2.0, 2.0])

    order = soonest_free(np.array([0, 1, 2]), held, longest_s, 1.0)

    assert order.tolist() == [1, 2, 0]


def test_brokers_without_long_logs_go_smallest_first() -> None:
    order = soonest_free(np.array([2, 0, 1]), np.array([5.0, 6.0, 4.0]), np.zeros(3), 1.0)

    assert order.tolist() == [2, 0, 1]


def test_the_order_is_never_later_on_average_than_smallest_first() -> None:
    random = np.random.default_rng(7)
    for _ in range(50):
        held, longest_s = random.uniform(1, 5, 5), random.uniform(0, 15, 5)
        smallest_first = np.argsort(held)

        order = soonest_free(smallest_first, held, longest_s, 1.0)

        mean = _freed_s(order, held, longest_s)
        assert sorted(order.tolist()) == [0, 1, 2, 3, 4]
        assert mean <= _freed_s(smallest_first, held, longest_s) + 1e-9


def _freed_s(order: np.ndarray, held: np.ndarray, longest_s: np.ndarray) -> float:
    return float(np.maximum(np.cumsum(held[order]), longest_s[order]).sum())
