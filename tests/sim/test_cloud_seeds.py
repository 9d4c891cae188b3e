"""The main job on each cloud's fake, by its own inventory code and a modelled Terraform that is killed at random.

P1-P9 hold after every step, no volume is lost, and in the end there is neither orphan nor twin. What is modelled of
Terraform, and what is the real code, says `tests/sim/cloudmachines.py`.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from providers.base import InstanceState
from tests.fakes.clouds.aws_hands import aws_harness
from tests.fakes.clouds.azure_hands import azure_harness
from tests.fakes.clouds.digitalocean_hands import digitalocean_harness
from tests.fakes.clouds.google_hands import google_harness
from tests.fakes.clouds.hetzner_hands import hetzner_harness
from tests.fakes.clouds.upcloud_hands import upcloud_harness
from tests.sim.cloudlisting import Hands
from tests.sim.cloudworld import CloudWorld, born_with_a_late_call, troubled_life
from tests.sim.sweep import sweep

_HANDS: Mapping[str, Any] = {
    "aws": aws_harness,
    "azure": azure_harness,
    "digitalocean": digitalocean_harness,
    "google": google_harness,
    "hetzner": hetzner_harness,
    "upcloud": upcloud_harness,
}

CLOUDS = sorted(_HANDS)

SLOW = pytest.param("aws", marks=pytest.mark.soak)
"""moto takes three times as long as the fastest of the other fakes."""

SEEDS_A_CLOUD = 50


@contextmanager
def opened(cloud: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Hands]]:
    """Hands in an empty fake of that cloud."""
    with ExitStack() as stack:
        yield {cloud: stack.enter_context(_HANDS[cloud](folder, monkeypatch))}


@pytest.mark.parametrize("cloud", [*(c for c in CLOUDS if c != "aws"), SLOW])
def test_a_cluster_on_a_cloud_survives_killed_terraforms_without_orphan_twin_or_lost_volume(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(cloud, tmp_path, monkeypatch) as hands:
        world = troubled_life(hands, 24, steps=60, chance=0.25)
    assert world.machines.kills >= 3
    assert world.machines.imports >= 1, "nothing was made that the state did not know"
    assert not world.machines.twins


@pytest.fixture
def tried_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are tried again after their back-off alone, as where names are taken once: so these seeds found it."""
    monkeypatch.setattr(CloudWorld, "unlisted_in", lambda _world, _cloud: 0.0)


@pytest.mark.usefixtures("tried_again_soon")
@pytest.mark.parametrize("cloud", ["digitalocean", SLOW])
def test_a_call_that_arrives_long_after_its_terraform_was_killed_makes_a_twin_that_is_told(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where neither names nor disks that come with a VM stand in its way. No cloud says which of two ever enrolled."""
    with opened(cloud, tmp_path, monkeypatch) as hands:
        world = born_with_a_late_call(hands)
        listed = [i.key for i in world.machines.clouds[cloud].truth.instances if i.state is not InstanceState.GONE]
        twins = {key for key in listed if listed.count(key) > 1}
        assert twins == world.machines.twins
        assert twins
        told = world.view().conditions["Twins"]
        assert told.status
        assert any(key in told.message for key in twins)


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("tried_again_soon")
def test_a_vm_that_dies_before_its_run_is_over_is_made_anew_by_that_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seed 180 at DigitalOcean: made and answered with a 500, its next two runs killed, and then its power is cut."""
    with opened("digitalocean", tmp_path, monkeypatch) as hands:
        world = troubled_life(hands, 180)
    (key,) = set(world.evidence.stillborn)
    assert world.evidence.created.count(key) == 2
    assert not world.machines.twins


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("tried_again_soon")
@pytest.mark.parametrize("seed", [225, pytest.param(233, marks=pytest.mark.soak)])
def test_a_vm_that_dies_before_it_has_its_disks_keeps_no_run_waiting(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run that would have given them was killed; every later one would have wanted the dead VM back."""
    with opened("digitalocean", tmp_path, monkeypatch) as hands:
        world = troubled_life(hands, seed)
    assert not world.machines.twins


@pytest.mark.timeout(300)
def test_a_vm_that_listings_do_not_have_yet_is_not_made_a_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seed 187 at DigitalOcean: a Terraform was killed, its last call arrived, and listings were 3.5 s late."""
    with opened("digitalocean", tmp_path, monkeypatch) as hands:
        world = troubled_life(hands, 187)
    assert world.machines.kills
    assert not world.machines.twins


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_cluster_on_a_cloud_survives_many_more_kills(cloud: str, tmp_path: Path) -> None:
    kills = imports = 0

    def run(seed: int) -> None:
        nonlocal kills, imports
        folder = tmp_path / str(seed)
        folder.mkdir()
        with pytest.MonkeyPatch.context() as monkeypatch, opened(cloud, folder, monkeypatch) as hands:
            world = troubled_life(hands, seed)
        kills, imports = kills + world.machines.kills, imports + world.machines.imports
        assert not world.machines.twins

    cases = sweep(f"troubled_life on {cloud}, seed", range(100, 100 + SEEDS_A_CLOUD), run)
    print(f"{cloud}: {kills} kills, {imports} imports")
    assert kills >= cases
    assert imports >= cases // 2
