"""The door of a broker's VM on a real kernel: clients are reset within a moment, members notice nothing."""

import contextlib
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from uuid import uuid4

import pytest

from agent.door.client_door import ClientDoor
from agent.door.order import DoorAccess, OrderedDoor
from agent.packet_filter import PacketFilter
from agent.tools import Tool, ToolResult
from providers.packet_filter import rules
from tests.agent.overlay_network import Namespace, made, unmade
from tests.marks import A_NETWORK_FOR_EACH_VM
from tests.waiting import until

pytestmark = [
    A_NETWORK_FOR_EACH_VM,
    pytest.mark.skipif(shutil.which("nft") is None, reason="a packet filter needs `nft`: install nftables"),
]

BROKER, MEMBER, CLIENT = "10.79.0.1", "10.79.0.2", "10.79.1.3"
SHUT = OrderedDoor("p1", 1, DoorAccess.SHUT, (9092,), ("10.79.0.0/24",))
ECHO = """
import socket, threading
def echo(talk):
    try:
        while part := talk.recv(65536):
            talk.sendall(part)
    except OSError as error:
        print(type(error).__name__, flush=True)
door = socket.create_server(("", 9092))
while True:
    threading.Thread(target=echo, args=door.accept()[:1], daemon=True).start()
"""
TALK = """
import socket, sys, time
talk = socket.create_connection((sys.argv[1], 9092), 30)
talk.settimeout(60)
print("connected", flush=True)
if sys.argv[2] == "idle":
    print("ended" if talk.recv(1) == b"" else "spoken to", flush=True)
while True:
    talk.sendall(b"x")
    assert talk.recv(1) == b"x"
    print(time.monotonic(), flush=True)
    time.sleep(0.02)
"""
KNOCK = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 9092), 5).close()
    print("open")
except ConnectionRefusedError:
    print("refused")
"""


@pytest.fixture
def network() -> Iterator[tuple[Namespace, Namespace, Namespace]]:
    """A broker's VM that echoes, a member of its cluster, and a client in another network."""
    mark = uuid4().hex[:6]
    broker, member, client = (Namespace(f"door{mark}{n}", n) for n in (1, 2, 3))
    with contextlib.ExitStack() as ends:
        for one in (broker, member, client):
            made(one)
            ends.callback(unmade, one)
        for other, near, far in ((member, BROKER, MEMBER), (client, "10.79.1.1", CLIENT)):
            device = f"to{other.number}"
            broker.run("ip", "link", "add", device, "type", "veth", "peer", "name", "eth0", "netns", other.name)
            broker.run("ip", "address", "add", f"{near}/24", "dev", device)
            broker.run("ip", "link", "set", device, "up")
            other.run("ip", "address", "add", f"{far}/24", "dev", "eth0")
            other.run("ip", "link", "set", "eth0", "up")
        client.run("ip", "route", "add", "10.79.0.0/24", "via", "10.79.1.1")
        broker.start(sys.executable, "-u", "-c", ECHO)
        until(lambda: knocked(member) == "open" or None, "the broker to listen", timeout_s=60, every_s=0.1)
        yield broker, member, client


def within(namespace: Namespace) -> Tool:
    """The tools of a VM."""

    def run(command: Sequence[str]) -> ToolResult:
        words = ("ip", "netns", "exec", namespace.name, *command)
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        return ToolResult(done.returncode, done.stdout, done.stderr)

    return run


def knocked(one: Namespace) -> str:
    process = one.python(KNOCK, BROKER)
    return process.communicate(timeout=60)[0].strip()


def test_a_shut_door_resets_clients_at_once_and_members_go_on(
    network: tuple[Namespace, Namespace, Namespace], tmp_path: Path
) -> None:
    broker, member, client = network
    door = ClientDoor(tmp_path, "the first", within(broker))
    talks, of_member = client.python(TALK, BROKER, "talk"), member.python(TALK, BROKER, "talk")
    waits = client.python(TALK, BROKER, "idle")
    for process in (talks, of_member, waits):
        assert process.stdout is not None
        assert process.stdout.readline() == "connected\n"
    shut_s = time.monotonic()
    status = door.keep(SHUT, is_confirmed=True, now_s=0.0)
    assert status is not None
    assert status.is_in_force
    assert talks.wait(timeout=30) != 0
    assert waits.wait(timeout=30) != 0, "one that waits for an answer is told, too"
    last_s = float((talks.stdout.read() if talks.stdout else "").split()[-1])
    assert last_s - shut_s < 5, "not a byte after the rules were there"
    later_s = count(10.0, 10.0)

    def is_shut() -> bool:
        found = door.keep(SHUT, is_confirmed=True, now_s=next(later_s))
        return found is not None and found.is_shut

    until(lambda: is_shut() or None, "no client to be left", timeout_s=30, every_s=0.1)
    assert knocked(client) == "refused"
    assert knocked(member) == "open"
    before = [of_member.stdout.readline() for _ in range(3)] if of_member.stdout else []
    assert len(before) == 3
    assert of_member.poll() is None

    ours = PacketFilter(tmp_path / "filter.nft", within(broker)).keep(rules(["10.79.0.0/16"]), 0.0)
    assert ours is not None
    assert (ours.problem, is_shut()) == ("", True)
    assert "reject with tcp reset" in broker.run("nft", "list", "table", "inet", "kedge_door"), "another table goes on"
    broker.run("nft", "delete", "table", "inet", "kedge")

    opened = door.keep(replace(SHUT, epoch=2, state=DoorAccess.OPEN), is_confirmed=True, now_s=next(later_s))
    assert opened is not None
    assert opened.state is DoorAccess.OPEN
    assert knocked(client) == "open"


def test_after_a_boot_the_door_is_shut_before_anybody_asks_the_server(
    network: tuple[Namespace, Namespace, Namespace], tmp_path: Path
) -> None:
    broker, member, client = network
    opened = replace(SHUT, state=DoorAccess.OPEN)
    ClientDoor(tmp_path, "the first", within(broker)).keep(opened, is_confirmed=True, now_s=0.0)
    assert knocked(client) == "open"
    broker.run("nft", "flush", "ruleset")
    status = ClientDoor(tmp_path, "the second", within(broker)).keep(opened, is_confirmed=False, now_s=0.0)
    assert status is not None
    assert status.is_shut
    assert (knocked(client), knocked(member)) == ("refused", "open")
