"""Processes of a VM with real ones: adoption, signals that hit nobody else, and the VM's init. No Kafka."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from agent.init import read_pid_file
from agent.process import LiveProcess, Marks, ServiceProcess, adopt, identify, is_alive, send_signal, spawn
from agent.service_user import service_user
from tests.agent.agent_vm import REPOSITORY
from tests.waiting import until

SLEEPER = (sys.executable, "-c", "import time; time.sleep(60)")


@pytest.fixture
def marks(tmp_path: Path) -> Marks:
    return Marks.of(root=tmp_path, service="broker", directory=tmp_path)


def start(marks: Marks, tmp_path: Path, start_id: str = "s-1", command: tuple[str, ...] = SLEEPER) -> ServiceProcess:
    marked = (*command, *marks.arguments(start_id))
    return spawn(marked, marks=marks, start_id=start_id, output=tmp_path / "broker.out", env=os.environ)


def test_a_service_is_found_again_by_its_pid_file(marks: Marks, tmp_path: Path) -> None:
    started = start(marks, tmp_path)
    try:
        found = adopt(marks)
        assert found is not None
        assert (found.pid, found.start_id, found.is_alive()) == (started.pid, "s-1", True)
        assert os.getpgid(started.pid) == os.getpgrp(), "killing the group must be a power cut"
    finally:
        started.kill()
        until(lambda: not started.is_alive(), timeout_s=5)
    assert started.exit_code == 137
    assert not found.is_alive()
    assert adopt(marks) is None


@pytest.mark.parametrize("content", [None, "", "{}", '{"pid": 1, "start_ticks": 1}'])
def test_a_service_is_found_without_a_good_pid_file(marks: Marks, tmp_path: Path, content: str | None) -> None:
    started = start(marks, tmp_path)
    try:
        marks.pid_file.unlink()
        if content is not None:
            marks.pid_file.write_text(content)
        found = adopt(marks)
        assert found is not None
        assert found.pid == started.pid
    finally:
        started.kill()
        until(lambda: not started.is_alive(), timeout_s=5)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts a process as somebody else")
def test_a_service_runs_as_its_user_with_none_of_the_groups_of_the_agent(marks: Marks, tmp_path: Path) -> None:
    user = service_user("nobody")
    # Not this Python: it may lie where nobody else can read.
    marked = ("/bin/sh", "-c", "while :; do sleep 1; done", *marks.arguments("s-1"))
    started = spawn(marked, marks=marks, start_id="s-1", output=tmp_path / "broker.out", env=os.environ, user=user)
    try:
        lines = Path(f"/proc/{started.pid}/status").read_text().splitlines()
        said = {name: fields.split() for name, _, fields in (line.partition(":") for line in lines)}
        assert (said["Uid"], said["Gid"], said["Groups"]) == ([str(user.uid)] * 4, [str(user.gid)] * 4, [])
        assert said["Umask"] == ["0027"]
        found = adopt(marks)
        assert found is not None
        assert found.pid == started.pid
    finally:
        started.kill()
        until(lambda: not started.is_alive(), timeout_s=5)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_tree_becomes_its_users_own_with_what_root_wrote_into_it_and_no_link_is_followed(tmp_path: Path) -> None:
    user, data, elsewhere = service_user("nobody"), tmp_path / "data", tmp_path / "elsewhere"
    (data / "orders-0").mkdir(parents=True)
    elsewhere.touch()
    (data / "orders-0" / "0.log").touch()
    (data / "out").symlink_to(elsewhere)
    user.give(data)
    (data / "orders-0" / "1.log").touch()
    user.give(data)
    given = (data, data / "orders-0", data / "orders-0" / "0.log", data / "orders-0" / "1.log", data / "out")
    assert {(p.lstat().st_uid, p.lstat().st_gid) for p in given} == {(user.uid, user.gid)}
    assert elsewhere.stat().st_uid == 0


def test_the_service_of_another_vm_is_not_adopted(marks: Marks, tmp_path: Path) -> None:
    started = start(marks, tmp_path)
    try:
        other = Marks.of(root=tmp_path / "other", service="broker", directory=tmp_path)
        assert adopt(other) is None
    finally:
        started.kill()
        until(lambda: not started.is_alive(), timeout_s=5)


def test_a_reused_pid_is_not_signalled(marks: Marks, tmp_path: Path) -> None:
    started = start(marks, tmp_path)
    try:
        stranger = LiveProcess(started.id.pid, started.id.start_ticks - 1)
        assert not is_alive(stranger)
        assert not send_signal(stranger, signal.SIGKILL)
        assert started.is_alive()
    finally:
        started.kill()
        until(lambda: not started.is_alive(), timeout_s=5)


def test_a_zombie_is_dead() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    try:
        until(lambda: identify(child.pid) is None, timeout_s=5)
        assert child.returncode is None, "nobody has reaped it yet"
    finally:
        child.wait()


def test_the_output_of_the_last_start_is_kept(marks: Marks, tmp_path: Path) -> None:
    for text in ("one", "two"):
        done = start(marks, tmp_path, command=(sys.executable, "-c", f"print('{text}')"))
        until(partial(_is_over, done), timeout_s=10)
        assert done.exit_code == 0
    assert (tmp_path / "broker.out").read_text() == "two\n"
    assert (tmp_path / "broker.out.1").read_text() == "one\n"


class Box:
    """An init over a small script instead of the agent."""

    def __init__(self, root: Path, script: str) -> None:
        self.root = root
        self.init = subprocess.Popen(
            [sys.executable, "-m", "agent.init", "--root", str(root), "--", sys.executable, "-c", script],
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), "BOX": str(root)},
        )

    def pids(self, name: str) -> list[int]:
        path = self.root / name
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def close(self) -> None:
        if self.init.poll() is None:
            os.killpg(self.init.pid, signal.SIGKILL)
            self.init.wait(10)


FORKING = """
import os, signal, subprocess, sys, time
box = os.environ["BOX"]
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open(box + "/agents", "a").write(f"{os.getpid()}\\n")
open(box + "/children", "a").write(f"{child.pid}\\n")
open(box + "/boots", "a").write(os.environ["KEDGE_BOOT_ID"] + "\\n")
time.sleep(60)
"""


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    box = Box(tmp_path, FORKING)
    yield box
    box.close()


def test_the_init_restarts_its_agent_and_keeps_the_orphan(box: Box) -> None:
    until(lambda: box.pids("children"), timeout_s=10)
    (agent,), (child,) = box.pids("agents"), box.pids("children")
    assert read_pid_file(box.root) == identify(box.init.pid)
    assert os.getpgid(box.init.pid) == box.init.pid == os.getpgid(agent) == os.getpgid(child)
    os.kill(agent, signal.SIGKILL)
    until(lambda: len(box.pids("children")) == 2, timeout_s=10)
    assert identify(child) is not None, "what the agent started lives on"
    assert int(Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[1]) == box.init.pid
    assert len(set((box.root / "boots").read_text().split())) == 1, "one boot, one boot id"
    os.kill(child, signal.SIGKILL)
    until(lambda: not Path(f"/proc/{child}").exists(), timeout_s=5)  # reaped


def test_the_power_button_leaves_nobody_behind(box: Box) -> None:
    until(lambda: box.pids("children"), timeout_s=10)
    box.init.terminate()
    assert box.init.wait(20) == 0
    assert identify(box.pids("agents")[0]) is None
    assert identify(box.pids("children")[0]) is None
    assert read_pid_file(box.root) is None


def test_a_power_cut_takes_the_whole_group(box: Box) -> None:
    until(lambda: box.pids("children"), timeout_s=10)
    os.killpg(box.init.pid, signal.SIGKILL)
    box.init.wait(10)
    until(lambda: identify(box.pids("agents")[0]) is None and identify(box.pids("children")[0]) is None, timeout_s=5)


def test_a_second_agent_on_one_root_is_refused(tmp_path: Path) -> None:
    import fcntl

    (tmp_path / "agent").mkdir()
    with (tmp_path / "agent" / "lock").open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        (tmp_path / "boot.json").write_text(
            '{"server_url":"http://127.0.0.1:1","installation_id":"i","cluster_uid":"c","node":"n",'
            '"generation":1,"intent_id":"x","token":"t"}'
        )
        done = subprocess.run(
            [sys.executable, "-m", "agent", "--root", str(tmp_path)],
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), "KEDGE_KAFKA_DIR": "/nowhere"},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    assert done.returncode == 3
    assert "another agent runs on" in done.stderr


def _is_over(process: ServiceProcess) -> bool:
    return not process.is_alive()
