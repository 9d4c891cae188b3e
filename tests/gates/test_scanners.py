"""A gate that cannot fail is none: each scanner is handed one finding, planted, and the same place without it."""

import subprocess
from pathlib import Path

import pytest

from tests.gates import scanners

HARMLESS = "import json\n\n\ndef read(text: str) -> object:\n    return json.loads(text)\n"
OPEN_TO_ALL = """
resource "aws_security_group" "kafka" {
  name        = "kafka"
  description = "Kafka"
  vpc_id      = "vpc-1"

  ingress {
    description = "a shell"
    from_port   = 22
    to_port     = 22
    protocol    = "tcp"
    cidr_blocks = ["%s"]
  }
}
"""


def test_python_that_runs_what_it_is_handed_fails_the_gate_for_code(tmp_path: Path) -> None:
    (tmp_path / "harmless.py").write_text(HARMLESS)
    assert scanners.code([tmp_path]).passed
    (tmp_path / "planted.py").write_text(HARMLESS.replace("json", "pickle").replace("text: str", "text: bytes"))
    found = scanners.code([tmp_path])
    assert not found.passed
    assert "B301" in found.words
    assert "planted.py" in found.words


def test_a_shell_for_the_whole_internet_fails_the_gate_for_modules(tmp_path: Path) -> None:
    module = tmp_path / "main.tf"
    module.write_text(OPEN_TO_ALL % "10.0.0.0/16")
    assert scanners.modules(tmp_path).passed
    module.write_text(OPEN_TO_ALL % "0.0.0.0/0")
    found = scanners.modules(tmp_path)
    assert not found.passed
    assert "CKV_AWS_24" in found.words


@pytest.mark.parametrize(
    "planted",
    [
        # In pieces, so that this file holds none.
        "aws_access_key_id = " + "AKIA" + "Z7Q2M4XW6RT3VN5B",
        "token: " + "ghp_" + "x7Kd93LmQpZ2vTn4RbYc81WsHfJe60AaUgBo",
    ],
)
def test_a_secret_fails_the_gate_for_commits_also_after_it_was_taken_out(tmp_path: Path, planted: str) -> None:
    repository = Repository(tmp_path)
    repository.commit("instance: orders-brokers-a-0.g2\n")
    assert scanners.commits(tmp_path).passed
    repository.commit(f"{planted}\n")
    repository.commit("taken out\n")
    found = scanners.commits(tmp_path)
    assert not found.passed
    assert "REDACTED" in found.words
    assert planted.split()[-1] not in found.words, "a gate's log would hold the secret"


def test_where_nothing_was_looked_at_nothing_passes(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    assert not any(look.passed for look in (scanners.commits(nowhere), scanners.modules(nowhere)))
    assert not scanners.code([tmp_path, nowhere]).passed
    assert not scanners.commits(tmp_path).passed, "a folder that is not a repository"


def test_a_scanner_that_is_not_there_fails_and_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanners, "TOOLS", tmp_path)
    missing = scanners.code([tmp_path])
    assert not missing.passed
    assert "make gates" in missing.words


class Repository:
    """A repository of one file, whose settings are its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._git("init", "--quiet")

    def commit(self, text: str) -> None:
        (self._folder / "notes.yaml").write_text(text)
        self._git("add", "notes.yaml")
        self._git("-c", "commit.gpgsign=false", "commit", "--quiet", "-m", "A note")

    def _git(self, *arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        subprocess.run(["git", *who, *arguments], cwd=self._folder, check=True, capture_output=True)
