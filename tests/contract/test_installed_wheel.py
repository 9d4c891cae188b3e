"""The wheel alone, in an environment that has what its metadata asks for and nothing else. No network is used: packages
are copied from the environment of the tests."""

import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from importlib.metadata import PathDistribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.tools.release.bill import ROOT, TOOLS, closure

MOST_BYTES = 60_000_000
ORDERS = ROOT / "examples" / "orders.yaml"

Ran = subprocess.CompletedProcess[str]


def told(command: Sequence[str], *, cwd: Path = ROOT) -> str:
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    told([str(TOOLS / "python"), "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), "."])
    (built,) = out.iterdir()
    return built


@pytest.fixture(scope="module")
def alone(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, without an extra."""
    home = tmp_path_factory.mktemp("alone")
    venv.create(home)
    (site,) = home.glob("lib/python3*/site-packages")
    uv = [sys.executable, "-m", "uv", "pip"]
    told([*uv, "install", "--offline", "--no-deps", "--python", str(home / "bin" / "python"), str(wheel)])
    (metadata,) = site.glob("kedge-*.dist-info")
    asked = [Requirement(text) for text in PathDistribution(metadata).requires or ()]
    for name in closure(need for need in asked if need.marker is None or need.marker.evaluate({"extra": ""})):
        _copied(name, site)
    told([*uv, "check", "--python", str(home / "bin" / "python")])
    return home


def _copied(name: str, site: Path) -> None:
    installed = distribution(name)
    for file in installed.files or ():
        if ".." in file.parts or "__pycache__" in file.parts:
            continue  # its programs, and what Python makes itself
        target = site / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(str(file.locate()), target)


def kedge(alone: Path, *words: str, cwd: Path) -> Ran:
    """Nothing of the tests' environment, nor of this checkout."""
    command = [str(alone / "bin" / "kedge"), *words]
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(cwd), "COLUMNS": "200"}
    return subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=False)


def test_the_command_line_is_small_and_has_no_planner_spark_or_cloud(alone: Path, tmp_path: Path) -> None:
    (site,) = alone.glob("lib/python3*/site-packages")
    there = {path.name for path in site.iterdir()}
    assert there & {"numpy", "numba", "pyspark", "boto3", "azure", "fastapi", "sqlalchemy", "confluent_kafka"} == set()
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert size <= MOST_BYTES


def test_it_tells_its_version_and_its_verbs(alone: Path, tmp_path: Path) -> None:
    assert re.fullmatch(r"kedge \d+\.\d+\.\d+\n", kedge(alone, "--version", cwd=tmp_path).stdout)
    ran = kedge(alone, "--help", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "\n  apply " in ran.stdout


@pytest.mark.parametrize(
    "words", ["get", "describe orders", "plan -f orders.yaml", "apply -f orders.yaml", "topics orders"]
)
def test_a_client_needs_no_extra(alone: Path, tmp_path: Path, words: str) -> None:
    """It comes as far as to look for a server."""
    shutil.copy2(ORDERS, tmp_path / "orders.yaml")
    ran = kedge(alone, *words.split(), cwd=tmp_path)
    assert ran.returncode == 1
    assert ran.stderr.startswith("error: no server is known here"), ran.stderr


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("server",), "server"),
        (("restore", "backup.jsonl"), "server"),
        (("demo",), "server,spark"),
        (("drain", "plan", "--state", "state.json", "--brokers", "1"), "planner"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_a_verb_that_needs_more_names_the_command_that_adds_it(
    alone: Path, tmp_path: Path, words: tuple[str, ...], extra: str
) -> None:
    (tmp_path / "state.json").write_text("{}")
    ran = kedge(alone, *words, cwd=tmp_path)
    assert ran.returncode == 1
    assert "Traceback" not in ran.stderr
    assert f"next:  pip install 'kedge[{extra}]'" in ran.stderr
    assert re.search(r"why:   `\w+` is not installed", ran.stderr)


def test_the_wheel_carries_what_lies_beside_the_packages(alone: Path) -> None:
    (site,) = alone.glob("lib/python3*/site-packages")
    for name in ("providers/_terraform/modules", "events/_alembic/versions", "controlplane/_requirements.lock"):
        assert (site / name).exists()
    assert (site / "controlplane" / "portal" / "templates").is_dir()
