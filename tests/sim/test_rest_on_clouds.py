"""A cluster at rest asks its cloud what is there, runs no Terraform, and changes nothing: on each cloud's fake, by its
real inventory code and the SDK below it."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_document
from tests.fakes.clouds.aws import DRY
from tests.sim.cloudlisting import FAKES
from tests.sim.cloudworld import CloudWorld, spec_in
from tests.sim.test_cloud_seeds import CLOUDS, opened

TICKS = 100

READS = {
    "aws": ("Describe", "Get"),
    "azure": ("GET", "LIST"),
    "digitalocean": ("GET",),
    "google": (".list", ".aggregatedList", ".get", "token"),
    "hetzner": ("GET",),
    "upcloud": ("Get", "List"),
}
"""How each fake calls what changes nothing, by how the name begins; at Google by how it ends."""


def reads(cloud: str, call: str) -> bool:
    is_read = call.endswith(READS[cloud]) if cloud == "google" else call.startswith(READS[cloud])
    return is_read and not call.endswith(DRY)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_hundred_ticks_of_a_cluster_at_rest_run_no_terraform_and_write_nothing(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(cloud, tmp_path, monkeypatch) as hands:
        fake: Any = getattr(hands[cloud], FAKES[cloud])
        world = CloudWorld(hands, seed=1)
        world.declare(a_document(**spec_in(hands)))
        world.converge(ticks=300)
        before = Counter(fake.calls)
        for _ in range(TICKS):
            world.machines.clouds[cloud].is_stale = True  # else what nobody changed would not be asked for
            events, effects = world.tick()
            assert (events, effects) == (0, 0), world.sentence()  # a run is an effect
        asked = Counter(fake.calls) - before
    assert asked.total() >= TICKS // 5, f"nobody looked: {asked}"
    assert [call for call in asked if not reads(cloud, call)] == []
