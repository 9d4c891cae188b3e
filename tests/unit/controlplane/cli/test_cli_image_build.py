"""`kedge images build`: what it refuses, in words; a build itself is `tests/boot/test_built_image.py`."""

from pathlib import Path

import pytest

from tests.unit.controlplane.cli.cli_world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--kafka", "5.0.0", "--kafka-files", "."), "Kafka 5.0.0 is none that Kedge runs"),
        (("--kafka", "4.2.0", "--kafka-files", "nowhere"), "nowhere is not there"),
        (("--kafka", "4.2.0", "--kafka-files", ".", "--arch", "mips"), "no machine of the architecture 'mips'"),
        (("--kafka", "4.2.0", "--kafka-files", ".", "--format", "iso"), "no format 'iso': raw, qcow2 or vhd"),
        (("--kafka", "4.2.0", "--kafka-files", ".", "--lock", "none.json"), "none.json cannot be read"),
    ],
)
def test_what_makes_no_image_is_told_and_nothing_is_written(
    world: World, tmp_path: Path, options: tuple[str, ...], why: str
) -> None:
    out = tmp_path / "images"
    ran = world.run("images", "build", *options, "--out", str(out))
    assert (ran.exit_code, out.exists()) == (1, False)
    assert "error: no image was built" in ran.stderr
    assert why in " ".join(ran.stderr.split())


def test_a_time_that_is_no_number_is_told(world: World, tmp_path: Path) -> None:
    world.environ["SOURCE_DATE_EPOCH"] = "yesterday"
    ran = world.run("images", "build", "--kafka", "4.2.0", "--kafka-files", str(tmp_path))
    assert ran.exit_code == 1
    assert "SOURCE_DATE_EPOCH is 'yesterday'" in " ".join(ran.stderr.split())
