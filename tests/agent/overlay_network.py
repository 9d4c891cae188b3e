"""Members of an overlay in network namespaces: each has a device in a private network and one in a public one.

Tunnels are the kernel's where it knows WireGuard, else those of wireguard-go (`make test-setup`). Cuts are silent: a
packet filter of the member drops what WireGuard sends or gets by one device, as a firewall in between would.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from agent.overlay.addresses import prefix_of, service_address, vm_address
from tests.marks import A_NETWORK_FOR_EACH_VM

REPOSITORY = Path(__file__).parents[2]
TOOLS = REPOSITORY / ".cache" / "wireguard"
PATHS = {"private": ("eth0", "10.66.0", 51820), "public": ("eth1", "198.51.100", 51821)}
"""By name: the device, its network, and the tunnel's port."""
PREFIX = prefix_of("overlay-of-tests")
SOCKETS = "/var/run/wireguard"

ENVIRONMENT = {**os.environ, "PATH": f"{os.environ['PATH']}:{TOOLS}:/usr/sbin:/sbin", "PYTHONPATH": str(REPOSITORY)}


def missing_tools() -> str:
    """What is not there of what this takes, "" where nothing is."""
    wanted = ("ip", "nft", "wg")
    return ", ".join(tool for tool in wanted if shutil.which(tool, path=ENVIRONMENT["PATH"]) is None)


OVERLAY_MARKS = (
    A_NETWORK_FOR_EACH_VM,
    pytest.mark.skipif(bool(missing_tools()), reason=f"an overlay needs {missing_tools()}: `make test-setup`"),
    pytest.mark.skipif(
        shutil.which("wireguard-go", path=ENVIRONMENT["PATH"]) is None,
        reason="where the kernel has no WireGuard an overlay needs wireguard-go: `make test-setup`, with Go",
    ),
)
"""Of tests with such members."""


def ran(*words: str, stdin: str = "") -> str:
    done = subprocess.run(words, input=stdin, capture_output=True, text=True, env=ENVIRONMENT, check=False, timeout=120)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
    return done.stdout


@dataclass
class Namespace:
    """One machine: `number` is the last of its addresses."""

    name: str
    number: int
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def run(self, *words: str, stdin: str = "") -> str:
        return ran("ip", "netns", "exec", self.name, *words, stdin=stdin)

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = ("ip", "netns", "exec", self.name, *words)
        process = subprocess.Popen(command, env=ENVIRONMENT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.processes.append(process)
        return process

    def python(self, code: str, *arguments: str) -> subprocess.Popen[str]:
        return self.start(sys.executable, "-u", "-c", code, *arguments)


@dataclass
class Member(Namespace):
    """One whose agent keeps the overlay. It runs broker `broker`."""

    folder: Path = Path()
    links: Mapping[str, str] = field(default_factory=dict)
    public_key: str = ""

    @property
    def node(self) -> str:
        return f"{self.name}.g1"

    @property
    def vm(self) -> IPv6Address:
        return vm_address(PREFIX, self.name, 1)

    @property
    def broker(self) -> IPv6Address:
        return service_address(PREFIX, "broker", 1000 + self.number)

    def begin(self, *, apart: bool = False) -> subprocess.Popen[str]:
        """Its agent. `apart`: tunnels of several members have one name, and wireguard-go's sockets go by that alone."""
        agent = (sys.executable, "-m", "tests.agent.overlay_process", str(self.folder))
        if not apart:
            return self.start(*agent)
        own_sockets = f'mkdir -p {SOCKETS} && mount -t tmpfs none {SOCKETS} && exec "$@"'
        return self.start("unshare", "--mount", "sh", "-c", own_sockets, "agent", *agent)

    def told(self, peers: Sequence["Member"], state: str = "on") -> None:
        """The document it goes by from now on."""
        document = {
            "state": state,
            "epoch": 1,
            "prefix": str(PREFIX),
            "vm": str(self.vm),
            "services": [str(self.broker)],
            "links": [{"name": self.links[path], "path": path, "port": port} for path, (*_, port) in PATHS.items()],
            "peers": [
                {
                    "node": peer.name,
                    "generation": 1,
                    "public_key": peer.public_key,
                    "vm": str(peer.vm),
                    "services": [str(peer.broker)],
                    "paths": {path: f"{net}.{peer.number}:{port}" for path, (_, net, port) in PATHS.items()},
                }
                for peer in peers
                if peer is not self
            ],
        }
        beside = self.folder / "overlay.json.new"
        beside.write_text(json.dumps(document))
        beside.rename(self.folder / "overlay.json")

    def choices(self, peer: "Member") -> list[str]:
        """The paths that were taken to that peer, in order."""
        file = self.folder / "choices.jsonl"
        lines = map(json.loads, file.read_text().splitlines()) if file.exists() else ()
        return [line["path"] for line in lines if line["node"] == peer.node and line["path"]]

    def cut(self, path: str, *ways: str) -> None:
        """What WireGuard gets (`in`) or sends (`out`) by that path is dropped, both where none is named."""
        _, _, port = PATHS[path]
        rules = {"in": f"udp dport {port} drop", "out": f"udp sport {port} drop"}
        chains = "\n".join(
            f"chain {way} {{ type filter hook {way}put priority -300; {rules[way]}; }}" for way in ways or rules
        )
        self.run("nft", "-f", "-", stdin=f"table inet cut {{\n{chains}\n}}\n")

    def mend(self) -> None:
        self.run("nft", "delete", "table", "inet", "cut")

    def links_there(self) -> dict[str, int]:
        """Devices by name, with their numbers."""
        return {one["ifname"]: one["ifindex"] for one in json.loads(self.run("ip", "-json", "link", "show"))}

    def state(self) -> dict[str, Any]:
        """What the kernel has of the overlay, but for what its traffic changes."""
        keys = {name: sorted(self.run("wg", "show", name, "peers").split()) for name in self.links.values()}
        routes = self.run("ip", "-6", "route", "show").splitlines()
        there = self.links_there()
        return {
            "peers": keys,
            "routes": sorted(line.strip() for line in routes if str(PREFIX.network_address)[:19] in line),
            "links": {name: there[name] for name in self.links.values()},
            "guard": self.run("nft", "list", "table", "ip6", "kedge_overlay"),
        }


@contextlib.contextmanager
def members(folder: Path, count: int) -> Iterator[tuple[list[Member], Namespace]]:
    """That many, with keys and without agents, and a stranger on the same two networks."""
    mark = uuid4().hex[:6]
    hub = Namespace(f"ov{mark}h", 0)
    all_of = [Member(f"ov{mark}{n}", n + 1) for n in range(count)]
    stranger = Namespace(f"ov{mark}s", 99)
    try:
        made(hub)
        for path in PATHS:
            hub.run("ip", "link", "add", path, "type", "bridge", "forward_delay", "0")
            hub.run("ip", "link", "set", path, "up")
        for one in (*all_of, stranger):
            made(one)
            _wired(hub, one)
        for one in all_of:
            one.folder = folder / one.name
            one.folder.mkdir()
            one.links = {path: f"k{path[1]}{mark}{one.number}" for path in PATHS}
            key = ran("wg", "genkey")
            (one.folder / "overlay-1.key").touch(mode=0o600)
            (one.folder / "overlay-1.key").write_text(key)
            one.public_key = ran("wg", "pubkey", stdin=key).strip()
        for one in all_of:
            one.told(all_of)
        yield all_of, stranger
    finally:
        for one in (*all_of, stranger, hub):
            unmade(one)


def made(one: Namespace) -> None:
    ran("ip", "netns", "add", one.name)
    one.run("ip", "link", "set", "lo", "up")


def _wired(hub: Namespace, one: Namespace) -> None:
    for n, (path, (device, network, _)) in enumerate(PATHS.items()):
        port = f"{path[:2]}{one.number}"
        hub.run("ip", "link", "add", port, "type", "veth", "peer", "name", device, "netns", one.name)
        hub.run("ip", "link", "set", port, "master", path, "up")
        one.run("ip", "address", "add", f"{network}.{one.number}/24", "dev", device)
        one.run("ip", "address", "add", f"fe80::{n}:{one.number}/64", "dev", device, "nodad")
        one.run("ip", "link", "set", device, "up")


def unmade(one: Namespace) -> None:
    """With all processes in it, wireguard-go's among them."""
    there = subprocess.run(("ip", "netns", "pids", one.name), capture_output=True, text=True, check=False)
    for pid in there.stdout.split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    for process in one.processes:
        process.wait(timeout=30)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
    subprocess.run(("ip", "netns", "delete", one.name), capture_output=True, check=False)
