"""One world a test."""

from pathlib import Path

import pytest

from tests.unit.controlplane.cli.cli_world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A home directory, a server in memory, a clock that only sleeping moves."""
    return World(tmp_path)
