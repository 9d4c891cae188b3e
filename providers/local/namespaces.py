"""A network namespace for each VM, joined by a bridge: what makes splits and lost packets possible. Linux, as root.

    VM's namespace          kedge-switch                this machine
    eth0 198.18.128.7 ───── port ── kedge-bridge ── host ───── kedge0 198.18.0.1

The bridge is in a namespace of its own, where no firewall of this machine stands. The server listens at 198.18.0.1
too; inside a VM the loopback address its agent was told leads there. What was made is written down in /run, which the
kernel forgets together with the namespaces, so that a sweep finds what a kill left behind.
"""

import ctypes
import fcntl
import hashlib
import json
import os
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar
from urllib.parse import urlsplit

from providers.errors import CloudUnavailable
from providers.local import nftables
from providers.local.ranges import GATEWAY

DEVICE = "eth0"

_T = TypeVar("_T")
_SWITCH, _BRIDGE, _HOST_DEVICE, _HOST_PORT, _PREFIX = "kedge-switch", "kedge-bridge", "kedge0", "host", 16
_NAMESPACES, _MADE = Path("/run/netns"), Path("/run/kedge-networks")
_CLONE_NEWNET = 0x40000000
_DNAT_PRIORITY, _SNAT_PRIORITY = -100, 100


@dataclass(frozen=True, slots=True)
class Namespaces:
    """See `Network`. One lock for the whole machine: what it does takes a tenth of a second."""

    is_own: ClassVar[bool] = True

    def open(self, vm_dir: Path, addresses: Sequence[str]) -> None:
        port = _served_port(vm_dir)
        with _locked():
            name = _name(vm_dir)
            _close_orphans(None)
            _open_switch()
            (_MADE / name).write_text(str(vm_dir))
            if not namespace(vm_dir).exists():
                _ip("netns", "add", name)
            if not _has_device(_SWITCH, name):
                _ip("link", "add", name, "netns", _SWITCH, "type", "veth", "peer", "name", DEVICE, "netns", name)
            _ip("-n", _SWITCH, "link", "set", name, "master", _BRIDGE, "up")
            _ip("-n", name, "link", "set", "lo", "up")
            _ip("-n", name, "link", "set", DEVICE, "up")
            for address in addresses:
                _ip("-n", name, "address", "replace", f"{address}/{_PREFIX}", "dev", DEVICE)
            _ip("-n", name, "route", "replace", "default", "via", GATEWAY, "src", addresses[0])
            inside(vm_dir, lambda: _lead_to_server(port))
        for address in addresses:
            inside(vm_dir, lambda own=address: _announce(own))  # type: ignore[misc]

    def command(self, vm_dir: Path, command: tuple[str, ...]) -> tuple[str, ...]:
        # Not `ip netns exec`: it would take the VM's mounts apart from ours, and disks come later.
        return ("nsenter", f"--net={namespace(vm_dir)}", *command)

    def add(self, vm_dir: Path, address: str) -> None:
        if namespace(vm_dir).exists():
            _ip("-n", _name(vm_dir), "address", "replace", f"{address}/{_PREFIX}", "dev", DEVICE)
            inside(vm_dir, lambda: _announce(address))

    def remove(self, vm_dir: Path, address: str) -> None:
        if namespace(vm_dir).exists():
            gone = "Cannot assign requested address"
            _ip("-n", _name(vm_dir), "address", "del", f"{address}/{_PREFIX}", "dev", DEVICE, unless=gone)

    def close(self, vm_dir: Path) -> None:
        if (_MADE / _name(vm_dir)).exists():
            with _locked():
                _close(_name(vm_dir))


def namespace(vm_dir: Path) -> Path:
    """The file that is the VM's namespace; it exists as long as the VM has one."""
    return _NAMESPACES / _name(vm_dir)


def inside(vm_dir: Path, act: Callable[[], _T]) -> _T:
    """What `act` returns, done in the VM's namespace. A thread enters it that ends there, so nobody else is led in."""
    return _inside(namespace(vm_dir), act)


def sweep(root: Path | None = None) -> int:
    """Takes away networks of VMs below `root`, and those whose VM is no more. Returns how many that were."""
    if os.geteuid() != 0 or not _MADE.is_dir():
        return 0
    with _locked():
        closed = _close_orphans(root)
        if not any(_MADE.glob("kedge-*")):
            _close_switch()
    return closed


def _close_orphans(root: Path | None) -> int:
    orphans = [made for made in _MADE.glob("kedge-*") if _is_orphan(Path(made.read_text()), root)]
    for made in orphans:
        _close(made.name)
    return len(orphans)


def _is_orphan(vm_dir: Path, root: Path | None) -> bool:
    return not vm_dir.is_dir() or (root is not None and vm_dir.is_relative_to(root))


def _open_switch() -> None:
    if not (_NAMESPACES / _SWITCH).exists():
        _ip("netns", "add", _SWITCH)
    if not _has_device(_SWITCH, _BRIDGE):
        _ip("-n", _SWITCH, "link", "add", _BRIDGE, "type", "bridge")
    _ip("-n", _SWITCH, "link", "set", _BRIDGE, "up")
    if _HOST_DEVICE not in _devices():
        _ip("link", "add", _HOST_DEVICE, "type", "veth", "peer", "name", _HOST_PORT, "netns", _SWITCH)
    _ip("-n", _SWITCH, "link", "set", _HOST_PORT, "master", _BRIDGE, "up")
    _ip("address", "replace", f"{GATEWAY}/{_PREFIX}", "dev", _HOST_DEVICE)
    _ip("link", "set", _HOST_DEVICE, "up")


def _close(name: str) -> None:
    """Under the lock. The port first: a namespace a process still stands in would keep its device."""
    if (_NAMESPACES / _SWITCH).exists():
        _ip("-n", _SWITCH, "link", "del", name, unless="Cannot find device")
    _ip("netns", "del", name, unless="No such file")
    (_MADE / name).unlink(missing_ok=True)


def _close_switch() -> None:
    _ip("link", "del", _HOST_DEVICE, unless="Cannot find device")
    _ip("netns", "del", _SWITCH, unless="No such file")


def _lead_to_server(port: int | None) -> None:
    """Inside: what the agent sends to the server's loopback address goes to this machine, as from the VM's address."""
    Path(f"/proc/sys/net/ipv4/conf/{DEVICE}/route_localnet").write_text("1")
    with nftables.filter_socket() as filters:
        if port is None:
            nftables.replace_table(filters, "kedge-server", [])
            return
        there = (*nftables.to_address("127.0.0.1"), *nftables.tcp_to_port(port), *nftables.sent_on_to(GATEWAY))
        leaving = (
            *nftables.through(DEVICE, nftables.Hook.POSTROUTING),
            *nftables.from_address("127.0.0.1"),
            *nftables.under_own_address(),
        )
        chains = [
            nftables.Chain(nftables.Hook.OUTPUT, [there], "nat", _DNAT_PRIORITY),
            nftables.Chain(nftables.Hook.POSTROUTING, [leaving], "nat", _SNAT_PRIORITY),
        ]
        nftables.replace_table(filters, "kedge-server", chains)


def _served_port(vm_dir: Path) -> int | None:
    """Port of the server on loopback, by the VM's boot data; None where the server is told otherwise."""
    boot = json.loads((vm_dir / "boot.json").read_text() or "{}")
    url = urlsplit(str(boot.get("server_url", ""))) if isinstance(boot, dict) else urlsplit("")
    return url.port if url.hostname == "127.0.0.1" else None


def _announce(address: str) -> None:
    """Inside: tells the neighbours who has the address now (gratuitous ARP, RFC 5227 3): another VM may have had it."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
        wire.bind((DEVICE, 0x0806))
        mac, own = wire.getsockname()[4], socket.inet_aton(address)
        body = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + mac + own + b"\0" * 6 + own
        wire.send(b"\xff" * 6 + mac + b"\x08\x06" + body)


def _inside(path: Path, act: Callable[[], _T]) -> _T:
    done: list[_T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            with path.open() as entrance:
                libc = ctypes.CDLL(None, use_errno=True)
                if libc.setns(entrance.fileno(), _CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
            done.append(act())
        except BaseException as error:  # noqa: BLE001 - raised again below, in the thread that asked
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]


def _name(vm_dir: Path) -> str:
    """Of the namespace and of its port on the switch: a device's name has 15 characters at most."""
    return f"kedge-{hashlib.sha256(str(vm_dir).encode()).hexdigest()[:9]}"


def _has_device(within: str, device: str) -> bool:
    path = _NAMESPACES / within
    return _inside(path, lambda: device in _devices())


def _devices() -> set[str]:
    """Names in the network one is in. Not by /sys/class/net, which is of the network it was mounted in."""
    return {name for _, name in socket.if_nameindex()}


@contextmanager
def _locked() -> Iterator[None]:
    if os.geteuid() != 0:
        raise CloudUnavailable(
            "a network for each VM needs root: run the server as root, or set KEDGE_CLOUDS__VM_NETWORK=loopback"
        )
    _MADE.mkdir(parents=True, exist_ok=True)
    with (_MADE / ".lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _ip(*arguments: str, unless: str = "") -> None:
    """Raises `CloudUnavailable`; not where its complaint has the words `unless`, because it is so already."""
    try:
        done = subprocess.run(("ip", *arguments), capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise CloudUnavailable("a network for each VM needs the program `ip` (iproute2): install it") from None
    if done.returncode != 0 and not (unless and unless in done.stderr):
        raise CloudUnavailable(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
