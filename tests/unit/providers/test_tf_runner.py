"""The process side of a run, with a shell script in Terraform's place."""

import os
import threading
from pathlib import Path

import pytest

from providers import process
from providers.errors import RunInterrupted, TerraformFailed
from providers.tf.progress import ProgressKind, RunProgress
from providers.tf.runner import TerraformRunner
from providers.tf.workspace import Workspace


def runner(
    tmp_path: Path,
    script: str,
    *,
    stop: threading.Event | None = None,
    timeout_s: float = 20.0,
    kill_after_s: float = 0.3,
    seen: list[RunProgress] | None = None,
) -> TerraformRunner:
    program = tmp_path / "terraform"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return TerraformRunner(
        Workspace(tmp_path),
        environment={"GIVEN": "yes"},
        stop=stop or threading.Event(),
        on_progress=(seen if seen is not None else []).append,
        timeout_s=timeout_s,
        kill_after_s=kill_after_s,
        binary=str(program),
    )


def test_it_runs_with_a_clean_environment_and_a_group_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_LOG", "trace")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not yours")
    _, out, _ = runner(tmp_path, 'env; echo "group=$(ps -o pgid= -p $$) pid=$$"').cmd("version")
    names = {line.partition("=")[0] for line in out.splitlines()}
    assert {"GIVEN", "PATH", "TF_CLI_CONFIG_FILE", "TF_IN_AUTOMATION", "CHECKPOINT_DISABLE"} <= names
    assert names.isdisjoint({"TF_LOG", "AWS_SECRET_ACCESS_KEY", "VIRTUAL_ENV"})
    group, pid = out.splitlines()[-1].replace("group=", "").replace("pid=", "").split()
    assert group == pid != str(os.getpgrp())


def test_a_bad_exit_carries_terraforms_own_words(tmp_path: Path) -> None:
    with pytest.raises(TerraformFailed, match="it is broken") as caught:
        runner(tmp_path, "echo it is broken >&2; exit 3").cmd("init")
    assert "exit code 3" in str(caught.value)
    assert caught.value.diagnostics == ("it is broken",)


def test_errors_of_the_stream_are_the_diagnostics(tmp_path: Path) -> None:
    seen: list[RunProgress] = []
    line = '{"type":"diagnostic","diagnostic":{"severity":"error","summary":"No","detail":"because"}}'
    with pytest.raises(TerraformFailed) as caught:
        runner(tmp_path, f"echo '{line}'; echo noise >&2; exit 1", seen=seen).apply()
    assert caught.value.diagnostics == ("No: because",)
    assert [p.kind for p in seen] == [ProgressKind.ERROR]


def test_stopped_before_it_starts_nothing_runs(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(RunInterrupted):
        runner(tmp_path, f"touch {tmp_path}/ran", stop=stop).cmd("init")
    assert not (tmp_path / "ran").exists()


def test_out_of_time_it_is_asked_to_end_and_may_tidy_up(tmp_path: Path) -> None:
    # It waits instead of starting one process after the other: a signal in the middle of a `vfork` may be lost.
    script = f"trap 'touch {tmp_path}/tidy; kill $!; exit 1' INT; sleep 600 & wait"
    with pytest.raises(RunInterrupted, match="no end after 2 s; its state is saved"):
        # The shell needs a moment until it has its trap, and another one to do what is in it.
        runner(tmp_path, script, timeout_s=1.5, kill_after_s=10.0).cmd("apply")
    assert (tmp_path / "tidy").exists()


def test_what_does_not_listen_is_killed_with_its_group(tmp_path: Path) -> None:
    script = f"trap '' INT; sleep 600 & echo $! > {tmp_path}/child; wait; wait"
    with pytest.raises(RunInterrupted, match="killed"):
        runner(tmp_path, script, timeout_s=0.5).cmd("apply")
    child = int((tmp_path / "child").read_text())
    assert process.wait_until(lambda: process.identify(child) is None, timeout_s=5)
