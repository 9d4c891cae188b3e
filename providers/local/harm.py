"""`kedge chaos` on the local cloud: signals to processes of a VM, and hands on its disks and its network.

What lasts is ended by a process of its own (`python -m providers.local.harm end ...`), started before the harm is
done: the VM goes on after its time though we are gone. It ends the harm it was started for, never a later one.
"""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TextIO

from providers import process
from providers.harm import PLAIN, CannotHarm, Harm, Manner
from providers.local import launch, machine, slow_disk, splits
from providers.local.config import read_config

_FILLING = "chaos.fill"
_LARGEST_CHUNK, _SMALLEST_CHUNK = 2**26, 4096
_LOST = ".lost"
"""What a volume's mount is called inside a VM while it is lost."""


_NETWORK = frozenset({Harm.SPLIT, Harm.PACKET_LOSS})


def harm_vm(vm_dir: Path, root: Path, harm: Harm, for_s: float, manner: Manner = PLAIN) -> None:
    """Does it to the VM in that directory of the local cloud below `root`. Raises `CannotHarm`, `CloudUnavailable`."""
    if not (vm_dir / "vm.json").exists():
        raise CannotHarm(f"{vm_dir.name} does not exist")
    if harm is Harm.KILL_VM:
        machine.power_cut(vm_dir)
    elif harm is Harm.KILL_BROKER:
        _signal(_of(vm_dir, _is_java), signal.SIGKILL, f"{vm_dir.name} has no running Kafka")
    elif harm is Harm.KILL_ZOOKEEPER:
        _signal(_of(vm_dir, _is_zookeeper), signal.SIGKILL, f"{vm_dir.name} has no running ZooKeeper")
    elif harm is Harm.KILL_AGENT:
        _signal(_of(vm_dir, _is_agent), signal.SIGKILL, f"{vm_dir.name} has no running agent")
    else:
        _prepare(vm_dir, root, harm)
        _last(vm_dir, harm, manner, for_s)


def end_of(vm_dir: Path, harm: Harm) -> Callable[[], None]:
    """What ends it, made ready before it begins: which disks were its own is not to be seen once the VM is gone."""
    if harm is Harm.SLOW_DISK:
        return partial(slow_disk.slow_down, slow_disk.devices_of(_disks(vm_dir)), 0)
    if harm is Harm.FULL_DISK:
        return partial(_free, _disks(vm_dir))
    return partial(end_harm, vm_dir, harm)


def end_harm(vm_dir: Path, harm: Harm) -> None:
    """Ends what lasts. A VM that is gone needs no end of it."""
    if harm in _NETWORK:
        splits.calm(vm_dir, harm)
    if harm is Harm.SLOW_DISK:
        slow_disk.slow_down(slow_disk.devices_of(_disks(vm_dir)), 0)
    if harm is Harm.PAUSE:
        for pid in _of(vm_dir, lambda _: True):
            _send(pid, signal.SIGCONT)
    for mount in sorted((vm_dir / "volumes").glob(f"*{_LOST}")) if harm is Harm.LOSE_VOLUME else ():
        mount.rename(mount.with_name(mount.name.removesuffix(_LOST)))
    if harm is Harm.FULL_DISK:
        _free(_disks(vm_dir))


def main(arguments: Sequence[str], *, sleep: Callable[[float], None] = time.sleep) -> int:
    """`end VM_DIR HARM SECONDS OF_WHICH`."""
    verb, vm_dir, harm, seconds, of_which = arguments
    if verb != "end":
        raise SystemExit(f"no verb {verb!r}")
    end = end_of(Path(vm_dir), Harm(harm))
    sleep(float(seconds))
    with _which(Path(vm_dir), Harm(harm)) as latest:
        if latest is None or latest.read() == of_which:  # None: the VM is gone, and its disks may be there
            end()
    return 0


def _last(vm_dir: Path, harm: Harm, manner: Manner, for_s: float) -> None:
    of_which = uuid.uuid4().hex
    with _which(vm_dir, harm) as latest:
        if latest is None:
            raise CannotHarm(f"{vm_dir.name} does not exist")
        latest.truncate(0)
        latest.write(of_which)
        latest.flush()
        _end_later(vm_dir, harm, for_s, of_which)
        try:
            _begin(vm_dir, harm, manner, for_s)
        except OSError as error:
            raise CannotHarm(f"{harm} of {vm_dir.name}: {error}", begun=True) from error


@contextmanager
def _which(vm_dir: Path, harm: Harm) -> Iterator[TextIO | None]:
    """Which harm of the kind was the latest, held while one begins or ends; None where the VM is gone."""
    try:
        opened = (vm_dir / f"{harm}.latest").open("a+")
    except FileNotFoundError:
        yield None
        return
    with opened as latest:
        fcntl.flock(latest, fcntl.LOCK_EX)
        latest.seek(0)
        yield latest


def _prepare(vm_dir: Path, root: Path, harm: Harm) -> None:
    config = read_config(root)
    if harm is Harm.FULL_DISK and not (config and config.enforce_disk and os.geteuid() == 0):
        raise CannotHarm(
            f"{vm_dir.name} has no disk of its own size: filling it would fill this machine. "
            "Serve with KEDGE_CLOUDS__ENFORCE_DISK=1 as root for that"
        )
    if harm is Harm.LOSE_VOLUME and not _mounts(vm_dir):
        raise CannotHarm(f"{vm_dir.name} has no volume")
    if harm is Harm.FULL_DISK and not _disks(vm_dir):
        raise CannotHarm(f"{vm_dir.name} has no disk of its own")
    if harm is Harm.SLOW_DISK:
        slow_disk.check_limits(vm_dir.name, slow_disk.devices_of(_disks(vm_dir)))
    if harm in _NETWORK:
        splits.check_network(vm_dir)


def _begin(vm_dir: Path, harm: Harm, manner: Manner, for_s: float) -> None:
    if harm is Harm.PAUSE:
        _pause(vm_dir)
    elif harm is Harm.LOSE_VOLUME:
        for mount in _mounts(vm_dir):
            mount.rename(mount.with_name(mount.name + _LOST))
    elif harm is Harm.FULL_DISK:
        for disk in _disks(vm_dir):
            _fill(disk)
    elif harm is Harm.SLOW_DISK:
        slow_disk.slow_down(slow_disk.devices_of(_disks(vm_dir)), manner.bytes_per_s)
    elif harm in _NETWORK:
        splits.disturb(vm_dir, harm, manner, for_s)


def _pause(vm_dir: Path) -> None:
    """Stops every process. One that was born while others were stopped is found by the next look."""
    stopped: set[int] = set()
    while fresh := set(_of(vm_dir, lambda _: True)) - stopped:
        for pid in fresh:
            _send(pid, signal.SIGSTOP)
        stopped |= fresh
    if not stopped:
        raise CannotHarm(f"{vm_dir.name} has no process")


def _mounts(vm_dir: Path) -> list[Path]:
    return sorted(p for p in (vm_dir / "volumes").glob("*") if p.is_symlink() and not p.name.endswith(_LOST))


def _disks(vm_dir: Path) -> list[Path]:
    """Disks of the VM that are file systems of their own, persistent or not."""
    return sorted(p for p in {p.resolve() for p in (vm_dir / "volumes").glob("*")} if p.is_mount())


def _fill(mount: Path) -> None:
    """Takes every byte that is free there: in halves, for what is free changes under us, and some of it is for maps."""
    taken, chunk = 0, _LARGEST_CHUNK
    with (mount / _FILLING).open("wb") as file:
        while chunk >= _SMALLEST_CHUNK:
            try:
                os.posix_fallocate(file.fileno(), taken, chunk)
                taken += chunk
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                chunk //= 2


def _free(disks: Iterable[Path]) -> None:
    for disk in disks:
        (disk / _FILLING).unlink(missing_ok=True)


def _end_later(vm_dir: Path, harm: Harm, for_s: float, of_which: str) -> None:
    command = [sys.executable, "-m", "providers.local.harm", "end", str(vm_dir), str(harm), str(for_s), of_which]
    environment = {"PATH": os.environ.get("PATH", os.defpath), "PYTHONPATH": launch.package_path()}
    started = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    # It goes on without us, and nobody waits for it. Silence Popen's complaint about that.
    started.returncode = 0


def _of(vm_dir: Path, wanted: Callable[[list[str]], bool]) -> list[int]:
    """Processes of the VM by their command lines."""
    mine = (pid for pid, value in process.carrying(launch.VM_DIR).items() if value == str(vm_dir))
    return [pid for pid in mine if wanted(_command(pid))]


def _command(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return []


def _is_java(command: list[str]) -> bool:
    return "kafka.Kafka" in command


def _is_zookeeper(command: list[str]) -> bool:
    return "org.apache.zookeeper.server.quorum.QuorumPeerMain" in command


def _is_agent(command: list[str]) -> bool:
    return any(a == "-m" and b == "agent" for a, b in pairwise(command))


def _signal(pids: list[int], number: signal.Signals, none_found: str) -> None:
    if not pids:
        raise CannotHarm(none_found)
    for pid in pids:
        _send(pid, number)


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
