"""An overlay of three members in namespaces, with two kinds of path between any two: what its users see as paths go and
come back, agents die, and strangers knock."""

import json
import signal
import threading
from collections.abc import Iterator
from functools import partial

import pytest

from tests.agent.overlay_network import OVERLAY_MARKS, PREFIX, Member, Namespace, members
from tests.waiting import until

pytestmark = list(OVERLAY_MARKS)

WAIT_S = 120.0

ECHO = """
import socket, sys, threading
def echo(talk):
    while part := talk.recv(65536):
        talk.sendall(part)
door = socket.create_server((sys.argv[1], 9092), family=socket.AF_INET6)
print("up")
while True:
    threading.Thread(target=echo, args=door.accept()[:1], daemon=True).start()
"""
TALK = """
import json, socket, sys, time
talk = socket.create_connection((sys.argv[1], 9092), 60)
talk.settimeout(90)
last, worst, count = time.monotonic(), 0.0, 0
while True:
    talk.sendall(count.to_bytes(8))
    back = b""
    while len(back) < 8:
        part = talk.recv(8 - len(back))
        assert part, "hung up"
        back += part
    assert int.from_bytes(back) == count
    now = time.monotonic()
    worst, last, count = max(worst, now - last), now, count + 1
    print(json.dumps({"count": count, "worst_s": round(worst, 2)}))
    time.sleep(0.05)
"""
KNOCK = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 9092), 2).close()
    print("open")
except OSError as error:
    print(f"shut: {error}")
"""


class Talk:
    """A connection of TCP within the overlay, on which something is said all the time."""

    def __init__(self, here: Namespace, there: Member) -> None:
        self._process = here.python(TALK, str(there.broker))
        self._told: dict[str, float] = {"count": 0, "worst_s": 0.0}
        threading.Thread(target=self._read, daemon=True).start()

    def goes_on(self, messages: int = 20) -> float:
        """Waits for so many more answers, and tells the longest time without one. What was lost would end it."""
        until_count = self._told["count"] + messages
        until(lambda: self._told["count"] >= until_count or self._process.poll() is not None, timeout_s=WAIT_S)
        assert self._process.poll() is None, "the connection broke"
        return self._told["worst_s"]

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._told = json.loads(line)


def _has_paths(one: Member, all_of: list[Member]) -> bool:
    assert one.processes[0].poll() is None, "its agent has ended: what it said is above"
    return all(one.choices(peer)[-1:] == ["private"] for peer in all_of if peer is not one)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[Member], Namespace]]:
    with members(tmp_path_factory.mktemp("overlay"), 3) as (all_of, stranger):
        for one in all_of:
            one.begin()
        for one in all_of:
            until(partial(_has_paths, one, all_of), "a path to each", timeout_s=WAIT_S)
            echo = one.python(ECHO, str(one.broker))
            assert echo.stdout is not None
            assert echo.stdout.readline() == "up\n"
        yield all_of, stranger


@pytest.mark.parametrize("ways", [(), ("in",), ("out",)], ids=["both ways", "in", "out"])
def test_traffic_goes_on_by_the_other_path_and_back_once_without_flapping(
    world: tuple[list[Member], Namespace], ways: tuple[str, ...]
) -> None:
    (a, b, c), _ = world
    talk, before = Talk(a, b), (len(a.choices(b)), len(b.choices(a)), len(a.choices(c)))
    talk.goes_on()
    b.cut("private", *ways)
    until(lambda: a.choices(b)[-1] == b.choices(a)[-1] == "public", "the other path", timeout_s=WAIT_S)
    print("hole:", talk.goes_on(), "s")
    b.mend()
    until(lambda: a.choices(b)[-1] == b.choices(a)[-1] == "private", "the better path again", timeout_s=WAIT_S)
    talk.goes_on()
    assert a.choices(b)[before[0] :] == b.choices(a)[before[1] :] == ["public", "private"]
    assert a.choices(c)[before[2] :] == [], "the path between two others was not touched"


def test_a_stranger_cannot_reach_an_inner_port_and_could_without_the_guard(
    world: tuple[list[Member], Namespace],
) -> None:
    (_, b, c), stranger = world

    def knocked(at: Member) -> str:
        route = (str(PREFIX), "via", f"fe80::0:{at.number}", "dev", "eth0")
        stranger.run("ip", "-6", "route", "replace", *route)
        process = stranger.python(KNOCK, str(at.broker))
        assert process.stdout is not None
        return process.stdout.readline().strip()

    # answers find the way by a route that no member has: what it sends to is in clear, on the private network
    stranger.run("ip", "-6", "address", "add", "fd99::99/64", "dev", "eth0", "nodad")
    for one in (b, c):
        one.run("ip", "-6", "address", "add", f"fd99::{one.number}/64", "dev", "eth0", "nodad")
    assert knocked(b) == "shut: timed out"
    c.run("nft", "delete", "table", "ip6", "kedge_overlay")
    assert knocked(c) == "open", "this is what the guard is for"


def test_an_agent_that_is_killed_leaves_its_tunnels_and_the_next_one_changes_nothing(
    world: tuple[list[Member], Namespace],
) -> None:
    (a, b, _), _ = world
    talk, agent = Talk(b, a), a.processes[0]
    talk.goes_on()
    before, taken = a.state(), len(a.choices(b))
    agent.send_signal(signal.SIGKILL)
    agent.wait(timeout=30)
    assert a.state() == before
    talk.goes_on()
    a.processes[0] = a.begin()
    until(lambda: len(a.choices(b)) > taken, "the agent that begins", timeout_s=WAIT_S)
    until(lambda: b.choices(a)[-1] == "private", "the path both had", timeout_s=WAIT_S)
    talk.goes_on()
    assert a.state() == before
    assert a.choices(b)[taken:] == ["private"], "it went on with what the kernel had"


def test_a_peer_that_goes_is_out_and_the_others_talk_on(world: tuple[list[Member], Namespace]) -> None:
    (a, b, c), _ = world
    talk = Talk(a, b)
    talk.goes_on()
    a.told([a, b])
    until(lambda: c.public_key not in a.state()["peers"][a.links["private"]], "the peer is out", timeout_s=WAIT_S)
    talk.goes_on()
    lost = a.python(KNOCK, str(c.broker))
    assert lost.stdout is not None
    assert lost.stdout.readline().startswith("shut: ")
    a.told([a, b, c])
    until(lambda: c.public_key in a.state()["peers"][a.links["private"]], "the peer is in", timeout_s=WAIT_S)
    talk.goes_on()


def test_a_tunnel_that_is_gone_is_made_again_and_traffic_goes_on(world: tuple[list[Member], Namespace]) -> None:
    """As wireguard-go is gone when it is killed, with its device."""
    (a, b, _), _ = world
    talk, before = Talk(a, b), b.state()["links"]
    talk.goes_on()
    b.run("ip", "link", "delete", b.links["private"])
    until(lambda: b.links["private"] in b.links_there(), "the tunnel is back", timeout_s=WAIT_S)
    until(lambda: a.choices(b)[-1] == b.choices(a)[-1] == "private", "its path is taken", timeout_s=WAIT_S)
    talk.goes_on()
    after = b.state()["links"]
    assert after[b.links["private"]] != before[b.links["private"]]
    assert after[b.links["public"]] == before[b.links["public"]], "the other one was left alone"


def test_what_is_off_is_gone_and_comes_back_with_its_key(world: tuple[list[Member], Namespace]) -> None:
    (a, b, c), _ = world
    talk, before = Talk(a, c), len(b.choices(a))
    talk.goes_on()
    b.told([], "off")
    until(lambda: "kedge_overlay" not in b.run("nft", "list", "tables"), "the guard is gone, the last of it")
    assert set(b.links_there()).isdisjoint(b.links.values())
    for words in (("address", "show", "dev", "lo"), ("route", "show")):
        assert str(PREFIX.network_address)[:19] not in b.run("ip", "-6", *words)
    talk.goes_on()
    b.told([a, b, c])
    until(lambda: len(b.choices(a)) > before, "a path again, with the key its peers know", timeout_s=WAIT_S)


def test_nothing_leaves_in_clear_once_the_tunnels_are_gone(world: tuple[list[Member], Namespace]) -> None:
    """The last test of this file: member c stays without them."""
    (a, _, c), _ = world
    c.processes[0].send_signal(signal.SIGKILL)
    c.processes[0].wait(timeout=30)
    for link in c.links.values():
        c.run("ip", "link", "delete", link)
    lost = c.python(KNOCK, str(a.broker))
    assert lost.stdout is not None
    words = lost.stdout.readline()
    assert words.startswith("shut: "), "an error at once, never the default route"
    assert "timed out" not in words
