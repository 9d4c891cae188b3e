"""The packet filter a VM is born with at Hetzner and on UpCloud, loaded by nft in a kernel: who gets in at which port.

A server's network namespace and one with everybody else, joined by a pair of devices. What is loaded is the command of
the user data as it is rendered, run as cloud-init would.
"""

import errno
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml

from agent.packet_filter import LOOK_EVERY_S, PacketFilter
from agent.tools import ToolResult, run_tool
from providers.base import Place
from providers.hetzner.inventory import PlaceLimits
from providers.hetzner.settings import HetznerRegion
from providers.hetzner.variables import module_variables as at_hetzner
from providers.networks import FirewallPorts, OverlayPorts
from providers.packet_filter import rules
from providers.upcloud.settings import UpcloudRegion
from providers.upcloud.variables import module_variables as on_upcloud
from tests.boot.debian_vm import ran
from tests.boot.knocking import IN_TIME_S, knock, let_in
from tests.fakes.resources import instance, resources
from tests.marks import A_NETWORK_FOR_EACH_VM

pytestmark = [
    A_NETWORK_FOR_EACH_VM,
    pytest.mark.skipif(shutil.which("nft") is None, reason="loading a packet filter needs `nft`: install nftables"),
]

HETZNER = HetznerRegion.model_validate(
    {
        "network": 1,
        "subnets": {"fsn1": "10.0.0.0/24"},
        "node_network": 2,
        "member_range": "10.1.0.0/24",
        "node_range": "10.1.1.0/24",
        "clients": ["10.8.0.0/16"],
        "broker_ports": [9092, 9192],
        "member_ports": [2181, 9093],
        "images": {"4.1.1": {"x86_64": 4711}},
    }
)
UPCLOUD = UpcloudRegion.model_validate(
    {
        "network": "03000000-0000-4000-8000-000000000001",
        "network_range": "10.0.0.0/15",
        "node_addresses": "10.1.0.0/16",
        "zones": ["fi-hel1-a"],
        "clients": ["10.8.0.0/16"],
        "broker_ports": [9092, 9192],
        "member_ports": [2181, 9093],
        "images": {"4.1.1": "01000000-0000-4000-8000-000000000001"},
    }
)


def born_at_hetzner() -> Any:
    place = Place("hetzner", "eu-central", "production")
    wanted = replace(resources(replace(instance("b-0"), zone="fsn1")), place=place)
    return at_hetzner(wanted, HETZNER, PlaceLimits())["instances"]


def born_on_upcloud() -> Any:
    place = Place("upcloud", "fi-hel1", "production")
    return on_upcloud(replace(resources(replace(instance("b-0"), zone="fi-hel1-a")), place=place), UPCLOUD)["instances"]


SERVER, SERVER6 = "10.0.0.2", "fd00:1::2"
MEMBERS = ("10.0.0.9", "10.1.0.9", "10.1.1.9")
CLIENT, STRANGER, STRANGER6, METADATA = "10.8.0.9", "10.99.0.9", "fd00:1::9", "169.254.169.254"
PORTS = (22, 111, 2181, 8778, 9092, 9093, 9192)
OFFICE = "10.8.0.0/16"
BROKERS, ALL_OF_KAFKA = {9092, 9192}, {2181, 9092, 9093, 9192}

LISTEN = """
import selectors, socket, sys
waiting = selectors.DefaultSelector()
for port in map(int, sys.argv[1:]):
    waiting.register(socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True), 1)
print("ready", flush=True)
while True:
    for found, _ in waiting.select():
        found.fileobj.accept()[0].close()
"""


UDP = (51819, 51820, 51821, 51822, 51823, 51824, 9092)
TUNNEL = "kedge-private"
ANSWER = """
import selectors, socket, sys
waiting = selectors.DefaultSelector()
for port in map(int, sys.argv[1:]):
    one = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    one.bind(("::", port))
    waiting.register(one, 1)
print("ready", flush=True)
while True:
    for found, _ in waiting.select():
        told, whose = found.fileobj.recvfrom(100)
        found.fileobj.sendto(told, whose)
"""
ASK = """
import json, selectors, socket, sys, time
waiting, found = selectors.DefaultSelector(), []
for own, there, port in json.loads(sys.argv[1]):
    one = socket.socket(socket.AF_INET6 if ":" in there else socket.AF_INET, socket.SOCK_DGRAM)
    one.bind((own, 0))
    one.sendto(b"there?", (there, port))
    waiting.register(one, 1, (own, port))
until = time.monotonic() + 3
while waiting.get_map() and time.monotonic() < until:
    for heard, _ in waiting.select(max(0, until - time.monotonic())):
        waiting.unregister(heard.fileobj)
        found.append(heard.data)
print(json.dumps(found))
"""


def answered(namespace: str, senders: Mapping[str, Sequence[str]]) -> set[tuple[str, int]]:
    """Own address and port of each datagram, to all of `UDP`, that was answered. `senders` by whom they write to."""
    told = [(own, there, port) for there, many in senders.items() for own in many for port in UDP]
    heard = json.loads(ran("ip", "netns", "exec", namespace, sys.executable, "-IS", "-c", ASK, json.dumps(told)))
    return {(own, port) for own, port in heard}


@dataclass(frozen=True)
class Wire:
    """The server's namespace and the other one."""

    server: str
    others: str
    boot_data: str

    def load(self) -> None:
        """What cloud-init runs at each boot."""
        for command in yaml.safe_load(self.boot_data)["bootcmd"]:
            ran("ip", "netns", "exec", self.server, *command)

    def run(self, command: Sequence[str]) -> ToolResult:
        """What the agent of that server runs."""
        return run_tool(("ip", "netns", "exec", self.server, *command))

    def let_in(self, meant: dict[str, set[int]], there: str = SERVER) -> dict[str, set[int]]:
        """Which of those addresses gets a connection at which of `PORTS`."""
        return let_in(self.others, meant, there, set(PORTS))


@pytest.fixture(params=[born_at_hetzner, born_on_upcloud], ids=["hetzner", "upcloud"])
def wire(request: pytest.FixtureRequest) -> Iterator[Wire]:
    born = request.param()
    name = uuid4().hex[:8]
    server, others = f"filter-{name}", f"others-{name}"
    listening: list[subprocess.Popen[str]] = []
    try:
        for one in (server, others):
            ran("ip", "netns", "add", one)
            ran("ip", "-n", one, "link", "set", "lo", "up")
        ran("ip", "link", "add", "eth0", "netns", server, "type", "veth", "peer", "name", "eth0", "netns", others)
        give(server, f"{SERVER}/8", f"{SERVER6}/64")
        give(others, *(f"{one}/8" for one in (*MEMBERS, CLIENT, STRANGER)), f"{STRANGER6}/64", f"{METADATA}/32")
        ran("ip", "-n", server, "route", "add", "default", "dev", "eth0")
        listening += [listen(server), listen(others)]
        yield Wire(server, others, born["b-0.g1"]["boot_data"])
    finally:
        for process in listening:
            process.kill()
            process.wait(10)
        for one in (server, others):
            subprocess.run(("ip", "netns", "del", one), check=False)


def give(namespace: str, *addresses: str) -> None:
    for address in addresses:
        # Without `nodad` an IPv6 address may not be used before the kernel has looked for its owner: a second or two.
        ran("ip", "-n", namespace, "address", "add", address, "dev", "eth0", *(["nodad"] if ":" in address else []))
    ran("ip", "-n", namespace, "link", "set", "eth0", "up")


def listen(namespace: str) -> subprocess.Popen[str]:
    """A process that answers at all of `PORTS`, by both kinds of address."""
    command = ("ip", "netns", "exec", namespace, sys.executable, "-IS", "-c", LISTEN, *map(str, PORTS))
    begun = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert begun.stdout is not None
    assert begun.stdout.readline() == "ready\n"
    return begun


def test_members_reach_kafka_clients_reach_brokers_and_nobody_reaches_anything_else(wire: Wire) -> None:
    unfiltered = {one: set(PORTS) for one in (*MEMBERS, CLIENT, STRANGER)}
    assert wire.let_in(unfiltered) == unfiltered
    assert wire.let_in({STRANGER6: set(PORTS)}, SERVER6) == {STRANGER6: set(PORTS)}

    wire.load()
    meant = {**dict.fromkeys(MEMBERS, ALL_OF_KAFKA), CLIENT: BROKERS, STRANGER: set()}
    assert wire.let_in(meant) == meant
    assert wire.let_in({STRANGER6: set()}, SERVER6) == {STRANGER6: set()}


def test_out_goes_everything_by_ipv6_too_though_neighbours_were_forgotten(wire: Wire) -> None:
    wire.load()
    for one in (wire.server, wire.others):
        ran("ip", "-n", one, "neighbour", "flush", "all")
    found = knock(wire.server, [(SERVER, STRANGER, 9092), (SERVER6, STRANGER6, 22)], IN_TIME_S)
    assert sorted(found) == [(SERVER, 9092, 0), (SERVER6, 22, 0)]


def test_the_metadata_service_answers_root_alone(wire: Wire) -> None:
    attempt = [(SERVER, METADATA, 111)]
    anybody = 65534
    assert knock(wire.server, attempt, IN_TIME_S, anybody) == [(SERVER, 111, 0)]
    wire.load()
    assert knock(wire.server, attempt, IN_TIME_S) == [(SERVER, 111, 0)]
    ((_, _, error),) = knock(wire.server, attempt, IN_TIME_S, anybody)
    assert error == errno.ECONNREFUSED


def test_its_agent_loads_what_the_network_lets_in_later_and_nothing_is_open_meanwhile(
    wire: Wire, tmp_path: Path
) -> None:
    wire.load()
    kept = PacketFilter(tmp_path / "filter.nft", wire.run)
    later = rules(["10.0.0.0/15"], ["10.99.0.0/16"], FirewallPorts((9192,), (9093,)))
    told = kept.keep(later, 0.0)
    assert told is not None
    assert told.problem == ""
    meant = {**{one: {9093, 9192} for one in MEMBERS}, CLIENT: set(), STRANGER: {9192}}
    assert wire.let_in(meant) == meant

    ran("ip", "netns", "exec", wire.server, "nft", "flush", "ruleset")
    kept.keep(later, LOOK_EVERY_S)
    assert wire.let_in(meant) == meant, "flushed by hand, and loaded again"

    narrowed = rules(["10.0.0.0/15"], ["10.99.0.0/16"], FirewallPorts((9092, 9192), (9093,)), [], ((9192, (OFFICE,)),))
    kept.keep(narrowed, LOOK_EVERY_S)
    own = {**{one: {9092, 9093, 9192} for one in MEMBERS}, CLIENT: {9192}, STRANGER: {9092}}
    assert wire.let_in(own) == own, "a listener with clients of its own"
    kept.keep(later, LOOK_EVERY_S)

    refused = kept.keep(later.replace("tcp dport", "tcp bort"), LOOK_EVERY_S + 1)
    assert refused is not None
    assert "syntax error" in refused.problem
    assert refused.loaded == told.loaded
    assert wire.let_in(meant) == meant, "what was in force stays so"


def test_tunnels_are_let_in_at_their_ports_and_what_comes_out_of_them_at_kafkas(wire: Wire, tmp_path: Path) -> None:
    """A device with a tunnel's name stands for the tunnel: what comes out of one is proved by WireGuard, not here."""
    inner, peer, stranger = "fd00:2::2", "fd00:2::9", STRANGER6
    ran("ip", "link", "add", TUNNEL, "netns", wire.server, "type", "veth", "peer", "name", TUNNEL, "netns", wire.others)
    for one, address in ((wire.server, inner), (wire.others, peer)):
        ran("ip", "-n", one, "address", "add", f"{address}/64", "dev", TUNNEL, "nodad")
        ran("ip", "-n", one, "link", "set", TUNNEL, "up")
    answering = subprocess.Popen(
        ("ip", "netns", "exec", wire.server, sys.executable, "-IS", "-c", ANSWER, *map(str, UDP)),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert answering.stdout is not None
        assert answering.stdout.readline() == "ready\n"
        wire.load()
        senders = (*MEMBERS, CLIENT, STRANGER)
        assert answered(wire.others, {SERVER: senders, SERVER6: (stranger,), inner: (peer,)}) == set()

        kept = PacketFilter(tmp_path / "filter.nft", wire.run)
        ports, tunnels = FirewallPorts((9092, 9192), (2181, 9093)), OverlayPorts((51820, 51822), (51821, 51823))
        told = kept.keep(rules(["10.0.0.0/15"], [OFFICE], ports, [], (), tunnels), 0.0)
        assert told is not None
        assert told.problem == ""
        found = answered(wire.others, {SERVER: senders, SERVER6: (stranger,), inner: (peer,)})
        public = {(one, port) for one in (*senders, stranger, peer) for port in (51821, 51823)}
        private = {(one, port) for one in MEMBERS for port in (51820, 51822)}
        assert found == public | private | {(peer, 51819)}, "probes within the tunnels alone"
    finally:
        answering.kill()
        answering.wait(10)
    assert wire.let_in({peer: ALL_OF_KAFKA}, inner) == {peer: ALL_OF_KAFKA}
    assert wire.let_in({stranger: set()}, SERVER6) == {stranger: set()}, "the same ports, not out of a tunnel"


def test_rules_loaded_at_each_boot_are_the_same_and_not_twice_as_many(wire: Wire) -> None:
    wire.load()
    once = ran("ip", "netns", "exec", wire.server, "nft", "list", "ruleset")
    wire.load()
    assert ran("ip", "netns", "exec", wire.server, "nft", "list", "ruleset") == once
    assert once.count("policy drop") == 2
