"""`kedge agent-bundle`: what it prints is what the settings of a cloud take."""

import platform
from pathlib import Path

import pytest
import yaml

from providers.software import ARCHITECTURES, Software
from tests.unit.controlplane.cli.cli_world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_what_it_prints_is_the_section_of_the_settings_for_that_processor(world: World, tmp_path: Path) -> None:
    own = platform.machine()
    ran = world.run("agent-bundle", "--arch", own, "--out", str(tmp_path / "mirror"))
    (file,) = (tmp_path / "mirror").iterdir()
    kafka = {"4.2.0": {"url": "https://mirror.example/k", "sha256": "ab" * 32}}
    software = Software.model_validate({**yaml.safe_load(ran.stdout), "kafka": kafka})
    assert software.agent_architectures() == (ARCHITECTURES[own],)
    agent = software.agent_for(ARCHITECTURES[own])
    assert agent is not None
    assert str(agent.url).endswith(file.name)


def test_a_processor_that_no_cloud_sells_writes_nothing(world: World, tmp_path: Path) -> None:
    ran = world.run("agent-bundle", "--arch", "riscv64", "--out", str(tmp_path / "mirror"))
    assert (ran.exit_code, (tmp_path / "mirror").exists()) == (1, False)
    assert "no VM has the processor 'riscv64'" in ran.stderr
    assert "x86_64, aarch64" in ran.stderr
