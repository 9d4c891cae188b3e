"""Turning a VM on: the one place where a machine becomes a running process, in the network it has."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import providers
from providers.local.config import Config
from providers.local.faults import Faults
from providers.local.network import Network

VM_DIR = "KEDGE_VM_DIR"
"""Environment variable every process of a VM inherits; it is how stragglers are found."""


class Launcher(Protocol):
    """Boots a VM and returns the pid of its first process, leader of a session of its own."""

    def launch(self, vm_dir: Path, environment: Mapping[str, str]) -> int: ...


@dataclass(frozen=True, slots=True)
class ProcessLauncher:
    """Starts the command detached from us: its own session, no open descriptor of ours, output to the console log."""

    command: tuple[str, ...]

    def launch(self, vm_dir: Path, environment: Mapping[str, str]) -> int:
        import subprocess  # of all verbs only the one that boots a VM needs it

        console = vm_dir / "logs" / "console.log"
        console.parent.mkdir(parents=True, exist_ok=True)
        with console.open("ab") as output:
            process = subprocess.Popen(
                self.command,
                cwd=vm_dir,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        # The VM is nobody's child: Terraform and we go away, it stays. Silence Popen's complaint about that.
        process.returncode = 0
        return process.pid


def launcher_for(config: Config, vm_dir: Path, faults: Faults, network: Network) -> Launcher:
    """The launcher of one VM, with the fault switches of its key applied."""
    command = tuple(part.format(python=config.python, vm_dir=vm_dir) for part in config.command)
    key = vm_dir.name
    if faults.vm("never_boots", key) is not None:
        command = ("/bin/sh", "-c", "while :; do sleep 3600; done")
    elif (late_s := faults.vm("boots_late_s", key)) is not None:
        command = ("/bin/sh", "-c", 'sleep "$0"; exec "$@"', str(late_s), *command)
    if (dies_s := faults.vm("dies_after_s", key)) is not None:
        # `kill -9 0` takes the whole process group of the VM, this shell's, with it: a power cut.
        command = ("/bin/sh", "-c", '( sleep "$0"; kill -9 0 ) & exec "$@"', str(dies_s), *command)
    return ProcessLauncher(network.command(vm_dir, command))


def vm_environment(vm_dir: Path, kafka_dir: str, network: Network) -> dict[str, str]:
    """Everything a VM knows of its host: no credentials, no settings of the control plane.

    PYTHONPATH names the folder our packages were imported from, so that a checkout works without
    installation.
    """
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "PYTHONPATH": package_path(),
        "KEDGE_KAFKA_DIR": kafka_dir,
        "KEDGE_BOOT_ID": os.urandom(16).hex(),
        "KEDGE_AGENT_NETWORK": "own" if network.is_own else "shared",
        VM_DIR: str(vm_dir),
    }


def package_path() -> str:
    """The folder our packages are imported from: a checkout, or where they are installed."""
    return str(Path(providers.__path__[0]).resolve().parent)
