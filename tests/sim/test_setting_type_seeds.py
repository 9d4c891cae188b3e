"""Settings of every type change under seeded trouble: words, booleans, fractions, lists, pools without a thread."""

import pytest

from tests.sim.stories import troubled_roll
from tests.sim.sweep import sweep
from tests.sim.world import World


def _settings_change(seed: int) -> World:
    return troubled_roll(seed, chance=0.12, settings=True, all_types=True)


@pytest.mark.parametrize("seed", range(45000, 45006))
def test_it_converges_though_settings_of_every_type_change(seed: int) -> None:
    history = _settings_change(seed).history()
    live = {name for r in history if r.type == "settings.change_requested" for name in r.data["live"]}
    assert live & {"compression.type", "log.cleaner.min.cleanable.ratio", "unclean.leader.election.enable"}


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_though_settings_of_every_type_change_swept() -> None:
    sweep("settings of every type, seed", range(45100, 45300), _settings_change)
