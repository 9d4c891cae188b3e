"""The text of the guard: what is let through, and everything else of the prefix dropped, in and out."""

from collections.abc import Sequence
from ipaddress import IPv6Network
from pathlib import Path

from agent.overlay.guard import TABLE, guard
from agent.packet_filter import PacketFilter
from agent.tools import ToolResult

PREFIX = IPv6Network("fd00:1:2:3::/64")


def test_what_is_of_the_prefix_goes_by_tunnels_and_loopback_alone() -> None:
    lines = [line.strip() for line in guard(PREFIX, ["kx0", "kp0"]).splitlines()]
    assert lines[:2] == ["table ip6 kedge_overlay {}", "delete table ip6 kedge_overlay"], "in one transaction"
    into, out = lines.index("chain in {"), lines.index("chain out {")
    assert lines[into + 1 : out - 1] == [
        "type filter hook input priority -5; policy accept;",
        'iifname { "lo", "kp0", "kx0" } accept',
        "ip6 saddr fd00:1:2:3::/64 drop",
        "ip6 daddr fd00:1:2:3::/64 drop",
    ]
    assert lines[out + 1 : out + 4] == [
        "type filter hook output priority -5; policy accept;",
        'oifname { "lo", "kp0", "kx0" } accept',
        "ip6 daddr fd00:1:2:3::/64 drop",
    ]


def test_the_packet_filter_keeps_it_beside_that_of_the_vm(tmp_path: Path) -> None:
    done: list[str] = []

    def run(command: Sequence[str]) -> ToolResult:
        done.append(" ".join(command))
        return ToolResult(0)

    PacketFilter(tmp_path / "guard.nft", run, table=TABLE).keep(guard(PREFIX, ["kp0"]), 0.0)
    assert done == [f"nft -f {tmp_path}/guard.nft", "nft list table ip6 kedge_overlay"]
