"""An agent built for another machine says so and starts nothing: not the words of a library that is missing."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent.platforms import own_platform, wrong_platform
from agent.upgrades.archive import ArchiveRefused, unpack
from agent.upgrades.choice import InstalledBundle
from tests.agent.agent_vm import REPOSITORY
from tests.agent.upgraded import agent_archive


def test_an_agent_without_a_mark_runs_anywhere_and_one_with_its_own_here(tmp_path: Path) -> None:
    mark = tmp_path / "BUILT_FOR"
    assert wrong_platform(mark) == ""
    mark.write_text(f"{own_platform()}\n")
    assert wrong_platform(mark) == ""


@pytest.mark.parametrize("built_for", ["cp311-aarch64", "cp312-x86_64"])
def test_another_processor_or_python_is_told_with_the_way_out(built_for: str, tmp_path: Path) -> None:
    mark = tmp_path / "BUILT_FOR"
    mark.write_text(built_for)
    told = wrong_platform(mark, "cp311-x86_64")
    assert f"built for {built_for} and this VM is cp311-x86_64: nothing was started" in told
    assert "kedge agent-bundle --arch x86_64" in told


def test_an_agent_of_another_processor_ends_before_it_loads_or_writes_anything(tmp_path: Path) -> None:
    """There are no packages beside it: had it loaded one, it would say that instead."""
    shutil.copytree(REPOSITORY / "agent", tmp_path / "bundle" / "agent", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "bundle" / "agent" / "BUILT_FOR").write_text("cp311-riscv64\n")
    root = tmp_path / "vm"
    ended = subprocess.run(
        (sys.executable, "-S", "-m", "agent", "--root", str(root)),
        env={"PYTHONPATH": str(tmp_path / "bundle"), "PYTHONNOUSERSITE": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 4
    assert ended.stderr.startswith("kedge-agent: this agent was built for cp311-riscv64 and this VM is")
    assert "Traceback" not in ended.stderr
    assert not root.exists()


def test_an_upgrade_whose_archive_is_of_another_machine_is_refused_before_it_is_chosen(tmp_path: Path) -> None:
    """Published under the wrong platform, signed, whole: its own word counts."""
    bundles = tmp_path / "bundles"
    bundles.mkdir()
    archive = agent_archive(tmp_path / "agent.tar.gz", "9.9.9", built_for="cp311-riscv64")
    with pytest.raises(ArchiveRefused, match="for cp311-x86_64 was built for cp311-riscv64; nothing of it is run"):
        unpack(archive, InstalledBundle("ab" * 32, "9.9.9"), bundles, platform="cp311-x86_64")
    assert not InstalledBundle("ab" * 32, "9.9.9").home(bundles).exists()
    unpack(archive, InstalledBundle("ab" * 32, "9.9.9"), bundles, platform="cp311-riscv64")
