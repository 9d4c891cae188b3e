"""Seeded trouble of all sorts at once: P1-P9 after every step, convergence when it stops. Seeds are in test names."""

import pytest

from tests.sim.stories import troubled_roll

REGRESSIONS = {
    2: "a broker outside the drain is lost: moves that wait for it are taken back",
    4: "a lost broker goes before missing ones",
    5: "a replacement that is itself replaced leaves the first one to be drained",
    14: "the successor of a successor takes over",
    25: "a dead controller gets its successor though another handover waits for the quorum",
    28: "draining what is replaced does not wait for the broker that is to be mended",
}


@pytest.mark.parametrize("seed", sorted(REGRESSIONS), ids=lambda s: f"seed-{s}-{REGRESSIONS[s].replace(' ', '-')}")
def test_a_seed_that_once_failed(seed: int) -> None:
    troubled_roll(seed)


@pytest.mark.parametrize("seed", range(1000, 1012))
def test_it_converges_after_seeded_trouble(seed: int) -> None:
    troubled_roll(seed)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_it_converges_after_much_more_trouble() -> None:
    for seed in range(2000, 2300):
        try:
            troubled_roll(seed, chance=0.15)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
