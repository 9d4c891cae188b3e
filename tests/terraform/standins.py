"""Modules under a stand-in for their vendor's provider: `tests/standins/README.md` says what that proves."""

from pathlib import Path
from typing import Any

import pytest

from tests.standins.mirror import mirrored
from tests.terraform.awslife import terraform as terraform

MODULES = Path(__file__).parents[2] / "terraform" / "modules"


STAND_INS = frozenset({"azure", "digitalocean", "google", "upcloud"})
"""Clouds whose vendors' providers no test has."""


def provider_of(cloud: str, *more: Any, marks: Any = (), called: str = "") -> Any:
    """A cloud (and what else `parametrize` takes) under an id that says whose provider it is: `google-stand-in`."""
    said = called or cloud
    return pytest.param(cloud, *more, id=f"{said}-stand-in" if cloud in STAND_INS else said, marks=marks)


def validated_copy(module: Path, directory: Path, cloud: str) -> Path:
    """A module's files in a folder of their own, after `init`, and held against the provider's schema by `validate`.

    What the schema document does not have is refused by Terraform itself, and so is a required part that is missing.
    """
    mirrored(directory / "plugins", cloud)
    for path in module.glob("*.tf"):
        (directory / path.name).write_text(path.read_text())
    for command in ("init", "validate"):
        done = terraform(directory, command, "-no-color")
        assert done.returncode == 0, done.stderr + done.stdout
    return directory
