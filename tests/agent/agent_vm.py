"""A VM for tests of the agent: a root directory, a power switch, volumes and addresses that come and go."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
from pydantic import SecretStr

from agent.init import read_pid_file
from agent.wire import BootData
from tests.waiting import until

REPOSITORY = Path(__file__).resolve().parents[2]
KAFKA = REPOSITORY / ".cache" / "kafka"
_QUICK = {
    "KEDGE_AGENT_RETRY_S": "0.2",
    "KEDGE_AGENT_RETRY_CAP_S": "0.5",
    "KEDGE_AGENT_RESTART_BACKOFF_S": "0.5",
    "KEDGE_AGENT_METRICS_EVERY_S": "1",
    "KEDGE_AGENT_REPORT_EVERY_S": "1",
    "KEDGE_AGENT_VITALS_EVERY_S": "1",
}


class AgentVm:
    """`boot` starts `agent.init` as leader of a group of its own; `cut_power` kills the group."""

    def __init__(self, root: Path, *, server_url: str, node: str, generation: int = 1) -> None:
        self.root = root
        self.instance = f"c1/{node}.g{generation}"
        self.environ: dict[str, str] = {}
        """What else the agent is told when the VM boots."""
        self._init: subprocess.Popen[bytes] | None = None
        for folder in ("volumes", "interfaces"):
            (root / folder).mkdir(parents=True)
        boot = BootData(
            server_url=server_url,
            installation_id="test",
            cluster_uid="c1",
            node=node,
            generation=generation,
            intent_id=f"intent-{node}-{generation}",
            token=SecretStr("t0ken"),
        )
        (root / "boot.json").write_text(boot.model_dump_json())

    def attach(self, key: str, disk: Path) -> None:
        disk.mkdir(parents=True, exist_ok=True)
        name = key.split(".")[1]
        (self.root / "volumes" / name).symlink_to(disk)
        (self.root / "volumes" / f"{name}.key").write_text(f"{key}\n")

    def detach(self, key: str) -> None:
        name = key.split(".")[1]
        (self.root / "volumes" / f"{name}.key").unlink()
        (self.root / "volumes" / name).unlink()

    def bind(self, address: str) -> None:
        (self.root / "interfaces" / address).touch()

    def boot(self, *, kafka_dir: Path = KAFKA) -> None:
        environ = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(REPOSITORY),
            "KEDGE_KAFKA_DIR": str(kafka_dir),
            "KEDGE_VM_DIR": str(self.root),
            **_QUICK,
            **self.environ,
        }
        self._init = subprocess.Popen(
            [sys.executable, "-m", "agent.init", "--root", str(self.root)],
            cwd=self.root,
            env=environ,
            start_new_session=True,
        )
        until(lambda: read_pid_file(self.root) is not None, timeout_s=10)

    @property
    def agent_pid(self) -> int | None:
        """The agent is the init's child that is no Java."""
        if self._init is None or self._init.poll() is not None:
            return None
        children = psutil.Process(self._init.pid).children()
        return next((c.pid for c in children if c.name().startswith("python")), None)

    def parent_of(self, pid: int) -> int:
        return psutil.Process(pid).ppid()

    @property
    def init_pid(self) -> int:
        assert self._init is not None
        return self._init.pid

    def kill_agent(self) -> int:
        pid = self.agent_pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        return pid

    def press_power_button(self, timeout_s: float = 40.0) -> int:
        """Orderly shut-down; returns init's exit code."""
        assert self._init is not None
        self._init.terminate()
        return self._init.wait(timeout_s)

    def cut_power(self) -> None:
        if self._init is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._init.pid, signal.SIGKILL)
            self._init.wait(10)
            until(lambda: not self.members(), timeout_s=10)

    def members(self) -> list[int]:
        """Live processes of the VM's group."""
        assert self._init is not None
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
                if os.getpgid(process.pid) == self._init.pid and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process.pid)
        return found

    def record(self, service: str) -> dict[str, Any]:
        """The agent's record of a service, as on disk."""
        found: dict[str, Any] = json.loads((self.root / "agent" / "records" / f"{service}.json").read_bytes())
        return found

    def log(self) -> str:
        return (self.root / "logs" / "agent.log").read_text()
