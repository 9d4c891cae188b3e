"""One VM's part of an overlay: the guard before all else, nothing twice, and what fails is tried again."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from ipaddress import IPv6Address, IPv6Network
from pathlib import Path

import pytest

from agent.overlay.keys import KeyUnusable, public_half
from agent.overlay.member import LOOK_EVERY_S, OverlayMember
from agent.overlay.network import Link, Overlay, Peer
from agent.tools import ToolFailed, ToolResult

KEY = "k" * 42 + "A="
OVERLAY = Overlay(IPv6Network("::/64"), IPv6Address("::1"), (), (Link("lo", "private", 51820),), ())
"""Over the loopback device, which is there everywhere: sockets are bound to it, and no tool is real."""


@dataclass
class Machine:
    """Answers as a VM on which nothing is set up yet; `fails` are the first words of what does not work."""

    fails: str = ""
    table: str = ""
    ran: list[str] = field(default_factory=list)

    def __call__(self, command: Sequence[str]) -> ToolResult:
        words = " ".join(command)
        self.ran.append(words)
        if self.fails and words.startswith(self.fails):
            return ToolResult(1, err="it does not work")
        if words.startswith("nft list"):
            return ToolResult(0, self.table) if self.table else ToolResult(1, err="No such file or directory")
        if command[0] == "nft":
            self.table = Path(command[2]).read_text() if command[1] == "-f" else ""
        answers = {
            "wg genkey": f"{KEY}\n",
            "ip -json link": '[{"ifname": "lo"}]',
            "wg show": "(none)\t(none)\t0\toff\n",
        }
        return ToolResult(0, next((out for begin, out in answers.items() if words.startswith(begin)), ""))

    def changes(self) -> list[str]:
        """What was done since the last time this was asked, without what only looks."""
        done = [words for words in self.ran if not any(look in words for look in (" show", "nft list", "genkey"))]
        self.ran.clear()
        return done


@dataclass
class Watch:
    now_s: float = 100.0

    def __call__(self) -> float:
        return self.now_s


def member(folder: Path, machine: Machine, watch: Watch) -> OverlayMember:
    return OverlayMember(folder, machine, watch)


def test_the_guard_is_there_before_any_tunnel(tmp_path: Path) -> None:
    machine = Machine()
    one = member(tmp_path, machine, Watch())
    one.keep(OVERLAY)
    one.leave()
    done = machine.changes()
    assert done[:2] == [f"nft -f {tmp_path}/guard.nft", f"wg syncconf lo {tmp_path}/lo.conf"]
    assert (tmp_path / "lo.conf").stat().st_mode & 0o777 == 0o600, "it holds the private key"


def test_without_a_guard_nothing_is_set_up_and_it_is_told_why(tmp_path: Path) -> None:
    machine = Machine(fails="nft -f")
    with pytest.raises(OSError, match=r"no guard, and so nothing of it is set up: .*it does not work"):
        member(tmp_path, machine, Watch()).keep(OVERLAY)
    assert machine.changes() == [f"nft -f {tmp_path}/guard.nft"]


def test_what_is_kept_already_is_looked_at_once_a_minute(tmp_path: Path) -> None:
    machine, watch = Machine(), Watch()
    one = member(tmp_path, machine, watch)
    one.keep(OVERLAY)
    machine.ran.clear()
    watch.now_s += LOOK_EVERY_S - 1
    one.keep(OVERLAY)
    assert machine.ran == []
    watch.now_s += 1
    one.keep(OVERLAY)
    assert "wg show lo dump" in machine.ran
    one.leave()


def test_what_failed_is_tried_again_and_the_overlay_of_before_goes_on(tmp_path: Path) -> None:
    machine, watch = Machine(), Watch()
    one = member(tmp_path, machine, watch)
    one.keep(OVERLAY)
    machine.changes()
    machine.fails = "wg syncconf"
    other = replace(OVERLAY, links=(Link("lo", "private", 51830),))
    for _ in range(2):
        with pytest.raises(ToolFailed):
            one.keep(other)
    one.turn(0.0)
    machine.fails = ""
    one.keep(other)
    assert machine.changes().count(f"wg syncconf lo {tmp_path}/lo.conf") == 3
    assert "ListenPort = 51830" in (tmp_path / "lo.conf").read_text()
    one.leave()


def test_a_look_that_failed_is_no_look(tmp_path: Path) -> None:
    machine, watch = Machine(), Watch()
    one = member(tmp_path, machine, watch)
    one.keep(OVERLAY)
    watch.now_s += LOOK_EVERY_S
    machine.fails = "wg show"
    for _ in range(2):
        with pytest.raises(ToolFailed):
            one.keep(OVERLAY)
    one.leave()


def test_a_peer_with_the_own_key_is_told_and_nothing_is_sent_to_it(tmp_path: Path) -> None:
    machine = Machine()
    twin = Peer("b.1", public_half(KEY), IPv6Address("::2"), (), {"private": None})
    one = member(tmp_path, machine, Watch())
    with pytest.raises(KeyUnusable, match=r"peer b\.1 has this VM's key, as one made from the same disk"):
        one.keep(replace(OVERLAY, peers=(twin,)))
    assert machine.changes() == [f"nft -f {tmp_path}/guard.nft"]
    assert one.public_key(1) == public_half(KEY), "so that the server hears of it"


def test_each_epoch_has_a_key_of_its_own(tmp_path: Path) -> None:
    one = member(tmp_path, Machine(), Watch())
    one.keep(OVERLAY)
    one.keep(replace(OVERLAY, epoch=2))
    one.leave()
    assert sorted(file.name for file in tmp_path.glob("*.key")) == ["overlay-1.key", "overlay-2.key"]
    assert one.public_key(3) == ""


def test_what_is_off_is_taken_away_with_the_guard_last_and_comes_back(tmp_path: Path) -> None:
    machine = Machine()
    one = member(tmp_path, machine, Watch())
    one.keep(OVERLAY)
    machine.changes()
    one.remove(OVERLAY)
    assert machine.changes() == ["ip link del lo", "nft delete table ip6 kedge_overlay"]
    assert not one.turn(0.0), "nothing is probed"
    one.keep(OVERLAY)
    one.leave()
    assert machine.changes()[0] == f"nft -f {tmp_path}/guard.nft", "loaded again, though it was before"


def test_nothing_is_taken_away_where_nothing_is(tmp_path: Path) -> None:
    machine = Machine(fails="nft list")
    member(tmp_path, machine, Watch()).remove(replace(OVERLAY, links=(Link("kedge-private", "private", 51820),)))
    assert machine.changes() == []
