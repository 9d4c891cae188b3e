"""What the kernel has of an overlay, by the words of `wg` 1.0.20210914 and iproute2 6.1; and tunnels that are made."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv6Address, IPv6Network

import pytest

from agent.host_port import HostPort
from agent.overlay.network import Link, Overlay
from agent.overlay.reading import seen
from agent.overlay.tunnels import LinkSeen, PeerSeen, Route
from agent.tools import ToolFailed, ToolResult

PREFIX = IPv6Network("fd00:1:2:3::/64")
LINK = Link("kp0", "private", 51820)
OVERLAY = Overlay(PREFIX, PREFIX[1], (), (LINK,), ())
KEY, ONE, OTHER = ("k" * 43 + "=", "B" * 43 + "=", "C" * 43 + "=")
DUMP = (
    f"{KEY}\tpublic\t51820\toff\n"
    f"{ONE}\t(none)\t[fd99:0:0::2]:51820\tfd00:1:2:3:b::1001/128,fd00:1:2:3:a::b/128\t1764500000\t1\t2\t25\n"
    f"{OTHER}\t(none)\t(none)\t(none)\t0\t0\t0\toff\n"
)
LINKS = [{"ifname": "lo"}, {"ifname": "kp0", "flags": ["POINTOPOINT", "NOARP", "UP", "LOWER_UP"], "mtu": 1280}]
ADDRESSES = [{"ifname": "lo", "addr_info": [{"local": "::1"}, {"local": "fd00:1:2:3:a::a"}]}]
ROUTES = [
    {"dst": "fd00:1:2:3:a::a", "dev": "lo", "protocol": "kernel", "metric": 256},
    {"dst": "fd00:1:2:3:b::1001", "dev": "kp0", "protocol": "boot", "metric": 100, "prefsrc": "fd00:1:2:3:a::a"},
    {"dst": "fd00:1:2:3::/64", "dev": "kp0", "protocol": "boot", "metric": 1001},
    {"type": "unreachable", "dst": "fd00:1:2:3::/64", "dev": "lo", "protocol": "boot", "metric": 5000},
    {"dst": "fe80::/64", "dev": "eth0", "protocol": "kernel", "metric": 256},
    {"dst": "default", "gateway": "fe80::1", "dev": "eth0", "metric": 1024},
]


@dataclass
class Machine:
    """Tools that answer by their first words; anything else is done, and noted."""

    answers: Mapping[str, ToolResult]
    done: list[str] = field(default_factory=list)

    def __call__(self, command: Sequence[str]) -> ToolResult:
        words = " ".join(command)
        for begin, answer in self.answers.items():
            if words.startswith(begin):
                return answer
        self.done.append(words)
        return ToolResult(0)


def machine(links: object = LINKS, dump: str = DUMP, **more: ToolResult) -> Machine:
    answers = {
        "ip -json link show": ToolResult(0, json.dumps(links)),
        "wg show kp0 dump": ToolResult(0, dump),
        "ip -6 -json address": ToolResult(0, json.dumps(ADDRESSES)),
        "ip -6 -json route": ToolResult(0, json.dumps(ROUTES)),
    }
    return Machine({**answers, **{words.replace("_", " "): answer for words, answer in more.items()}})


def test_what_is_there_is_read_and_nothing_is_done() -> None:
    there = machine()
    found = seen(there, OVERLAY)
    allowed = frozenset({"fd00:1:2:3:b::1001/128", "fd00:1:2:3:a::b/128"})
    peers = {ONE: PeerSeen(HostPort("fd99::2", 51820), allowed, 25), OTHER: PeerSeen(None, frozenset())}
    assert found.links == {"kp0": LinkSeen(True, 1280, KEY, 51820, peers)}
    assert found.addresses == {IPv6Address("fd00:1:2:3:a::a")}
    assert found.routes == {
        Route(IPv6Network("fd00:1:2:3:b::1001"), 100, "kp0"),
        Route(PREFIX, 1001, "kp0"),
        Route(PREFIX, 5000),
    }
    assert there.done == []


def test_a_tunnel_that_is_missing_is_the_kernels() -> None:
    there = machine([{"ifname": "lo"}], "(none)\t(none)\t0\toff\n")
    assert seen(there, OVERLAY).links == {"kp0": LinkSeen(False, 0, "", 0, {})}
    assert there.done == ["ip link add kp0 type wireguard"]


@pytest.mark.parametrize("words", ["Error: Unknown device type.", "RTNETLINK answers: Operation not supported"])
def test_where_the_kernel_has_no_wireguard_it_is_a_programs(words: str) -> None:
    there = machine([{"ifname": "lo"}], "(none)\t(none)\t0\toff\n", ip_link_add=ToolResult(2, err=words))
    seen(there, OVERLAY)
    assert there.done == ["wireguard-go kp0"]


def test_another_refusal_is_told() -> None:
    refused = ToolResult(2, err="RTNETLINK answers: Operation not permitted")
    with pytest.raises(ToolFailed, match="not permitted"):
        seen(machine([], ip_link_add=refused), OVERLAY)
