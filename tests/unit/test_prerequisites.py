"""What the machine lacks is said before anything else, by name, with what it is for and how to get it."""

import ast
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane.server import prerequisites

GOOD = {
    "java": 'openjdk version "17.0.11" 2024-04-16',
    "terraform": "Terraform v1.9.2\non linux_amd64",
    "mvn": "Apache Maven 3.9.6 (abc)",
}
Machine = Callable[..., None]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Makes a PATH of programs that print what they are told; None leaves one out."""

    def make(**changes: str | None) -> None:
        for name, prints in {**GOOD, **changes}.items():
            if prints is not None:
                program = tmp_path / name
                program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{prints}\nEND\n")
                program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/bin")

    monkeypatch.setattr(sys, "platform", "linux")
    return make


def test_a_machine_with_everything_lacks_nothing(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine()
    assert prerequisites.missing() == []
    assert prerequisites.main() == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"java": 'openjdk version "11.0.2"'}, "Java 17 or later: 11.0.2 is installed"),
        ({"java": 'java version "1.8.0_292"'}, "Java 17 or later: 1.8.0"),
        ({"terraform": "Terraform v1.4.7"}, "Terraform 1.5 or later: 1.4.7 is installed"),
        ({"mvn": "Apache Maven 3.5.4"}, "Maven 3.6 or later: 3.5.4 is installed"),
        ({"mvn": "segmentation fault"}, "Maven: `mvn -version` printed no version (exit 0). Is it broken?"),
    ],
)
def test_what_is_too_old_or_broken_is_named_with_what_was_found(
    machine: Machine, changes: dict[str, str], said: str
) -> None:
    machine(**changes)
    (problem,) = prerequisites.missing()
    assert said in problem


@pytest.mark.parametrize(("version", "enough"), [("17", True), ("21.0.3", True), ("17.0.1", True), ("16.0.2", False)])
def test_versions_are_compared_as_numbers(machine: Machine, version: str, enough: bool) -> None:
    machine(java=f'openjdk version "{version}"')
    assert (prerequisites.missing() == []) is enough


def test_terraform_of_two_digits_is_later_than_of_one(machine: Machine) -> None:
    machine(terraform="Terraform v1.15.0")
    assert prerequisites.missing() == []


def test_a_program_that_is_not_there_is_named_with_its_purpose_and_its_package(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine()
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "terraform" else name)
    assert prerequisites.main() == 1
    said = capsys.readouterr().err
    assert said.startswith("missing: Terraform 1.5 or later: `terraform` is not on PATH (makes and deletes VMs)")
    assert "Install terraform 1.5 or later" in said


def test_another_system_and_an_old_python_are_named(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine()
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(sys, "version_info", (3, 10, 1))
    said = prerequisites.missing()
    assert [problem.split(":")[0] for problem in said] == ["Linux", "Python 3.11 or later"]


def test_it_runs_before_set_up_on_the_standard_library_alone() -> None:
    tree = ast.parse(Path(prerequisites.__file__).read_text())
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""])
    }
    assert imported <= sys.stdlib_module_names
