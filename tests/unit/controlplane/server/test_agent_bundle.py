"""The archive a plain VM unpacks: complete, and the same bytes each time."""

import ast
import hashlib
import subprocess
import sys
import tarfile
from importlib.metadata import packages_distributions
from importlib.resources import files
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from controlplane.server.agent_bundle import ROOTS, Bundle, write_bundle


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Packing 43 MB takes more than a second of the processor, and nobody changes it."""
    return write_bundle(tmp_path_factory.mktemp("bundle"))


def test_the_bundle_is_the_same_bytes_each_time_and_says_its_checksum(bundle: Bundle, tmp_path: Path) -> None:
    first, second = bundle, write_bundle(tmp_path)
    assert first.path.read_bytes() == second.path.read_bytes()
    assert first.sha256 == second.sha256 == hashlib.sha256(first.path.read_bytes()).hexdigest()
    assert first.size_bytes == first.path.stat().st_size


def test_an_agent_runs_from_its_bundle_alone(bundle: Bundle, tmp_path: Path) -> None:
    with tarfile.open(bundle.path) as archive:
        archive.extractall(tmp_path / "there", filter="data")
    modules = "agent.__main__, agent.metrics_start, agent.metrics_topic"
    done = subprocess.run(
        (sys.executable, "-S", "-c", f"import {modules}; print(agent.__file__)"),
        env={"PYTHONPATH": str(tmp_path / "there"), "PYTHONNOUSERSITE": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(tmp_path / "there" / "agent" / "__init__.py")


def test_the_roots_of_the_bundle_are_what_the_agents_modules_import() -> None:
    owners = packages_distributions()
    imported = {name.partition(".")[0] for path in Path(str(files("agent"))).rglob("*.py") for name in _imports(path)}
    foreign = {canonicalize_name(owners[name][0]) for name in imported - {"agent"} if name in owners}
    assert foreign == set(ROOTS)


def _imports(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append(node.module)
    return found
