"""The provisioners of the local cloud start fast: a roll starts dozens, and Terraform waits for each."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from providers.local.verbs import REQUEST

ROOT = Path(__file__).parents[3]
SLOW = ("argparse", "subprocess", "shutil", "providers.base", "providers.local.reap", "providers.local.image")


def _python(*argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k != REQUEST}
    return subprocess.run(
        [sys.executable, "-S", *argv],
        env={**kept, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_verb_loads_nothing_that_it_does_not_need() -> None:
    done = _python("-c", "import sys, providers.local.__main__; print(*sys.modules)")
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert "providers.local.machine" in loaded
    assert loaded.isdisjoint(SLOW)


def test_a_verb_of_a_person_is_refused_with_the_reason() -> None:
    done = _python("-m", "providers.local", "attach")
    assert (done.returncode, REQUEST in done.stderr) == (2, True)


@pytest.mark.parametrize("argv", [("-h",), ("reap", "-h"), ("image", "-h")])
def test_help_needs_no_installed_package(argv: tuple[str, ...]) -> None:
    assert _python("-m", "providers.local", *argv).returncode == 0


def test_a_refusal_is_one_marked_line(tmp_path: Path) -> None:
    request = {"root": str(tmp_path), "region": "nowhere", "python": "x", "cluster_uid": "u", "key": "k"}
    done = _python("-m", "providers.local", "destroy-instance", **{REQUEST: json.dumps(request)})
    assert done.returncode == 1
    assert done.stderr.startswith("kedge-error {")
    assert "no region 'nowhere'" in done.stderr
