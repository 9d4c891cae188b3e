"""The door of a broker's VM: what is ordered, what is kept, what a boot makes of it, and who still stands in it."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from agent.door.client_door import ClientDoor
from agent.door.connections import client_connections
from agent.door.order import DoorAccess, DoorStatus, OrderedDoor, door_rules
from agent.tools import ToolFailed, ToolResult

SHUT = OrderedDoor("p1", 4, DoorAccess.SHUT, (9096, 9092), ("10.0.0.0/24", "fd00:1::/64", "10.0.9.7/32"))
OPEN = replace(SHUT, epoch=5, state=DoorAccess.OPEN)


class Kernel:
    """`nft` and `ss` of one VM. `has` is its table, as it was loaded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.has = ""
        self.refuses = ""
        self.loses = False
        self.clients: list[str] = []
        self.can_end = True
        self.ends = 0
        self.can_count = True

    def __call__(self, command: Sequence[str]) -> ToolResult:
        match tuple(command):
            case ("nft", "-f", file):
                if self.refuses:
                    return ToolResult(1, err=self.refuses)
                self.has = "" if self.loses else Path(file).read_text()
            case ("nft", "list", *_):
                return ToolResult(0, self.has) if self.has else ToolResult(1, err="No such file or directory")
            case ("nft", "delete", *_):
                self.has = ""
            case ("ss", "-K", *filters):
                assert "not dst 10.0.9.7/32" in " ".join(filters)
                self.ends += 1
                self.clients = [one for one in self.clients if not self.can_end or " 10.0.0." in one.split(":")[-2]]
            case ("ss", *_):
                if not self.can_count:
                    raise ToolFailed("ss is not on this VM: its image needs it")
                return ToolResult(0, "\n".join(self.clients))
            case other:
                raise AssertionError(other)
        return ToolResult(0)

    @property
    def is_shut(self) -> bool:
        return "reject with tcp reset" in self.has


class Vm:
    """Its agent may begin anew, and it may boot: what the kernel has is gone then."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.kernel, self.now_s, self.boots = folder, Kernel(folder), 0.0, 0
        self.boot()

    def boot(self) -> None:
        self.boots += 1
        self.kernel.has, self.kernel.clients = "", []
        self.begin()

    def begin(self) -> None:
        self.door = ClientDoor(self.folder, f"boot {self.boots}", self.kernel)

    def look(self, order: OrderedDoor | None, *, confirmed: bool = True) -> DoorStatus | None:
        self.now_s += 10
        return self.door.keep(order, is_confirmed=confirmed, now_s=self.now_s)

    def keep(self, order: OrderedDoor | None, *, confirmed: bool = True) -> DoorStatus:
        status = self.look(order, confirmed=confirmed)
        assert status is not None
        return status


@pytest.fixture
def vm(tmp_path: Path) -> Vm:
    return Vm(tmp_path)


def test_the_rules_of_a_shut_door_let_members_alone_in_both_ways() -> None:
    assert (
        door_rules(SHUT, DoorAccess.SHUT)
        == """\
table inet kedge_door {}
delete table inet kedge_door
table inet kedge_door {
	comment "epoch 4, shut"
	chain in {
		type filter hook input priority -4; policy accept;
		tcp dport != { 9092, 9096 } accept
		meta l4proto != tcp accept
		iifname "lo" accept
		ip saddr { 10.0.0.0/24, 10.0.9.7/32 } accept
		ip6 saddr { fd00:1::/64 } accept
		reject with tcp reset
	}
	chain out {
		type filter hook output priority -4; policy accept;
		tcp sport != { 9092, 9096 } accept
		meta l4proto != tcp accept
		tcp flags & rst == rst accept
		oifname "lo" accept
		ip daddr { 10.0.0.0/24, 10.0.9.7/32 } accept
		ip6 daddr { fd00:1::/64 } accept
		reject with tcp reset
	}
}
"""
    )


def test_an_open_door_has_no_rule_and_says_its_epoch() -> None:
    assert door_rules(OPEN, DoorAccess.OPEN).splitlines()[2:] == [
        "table inet kedge_door {",
        '\tcomment "epoch 5, open"',
        "}",
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        {"epoch": -1},
        {"ports": ()},
        {"ports": (0,)},
        {"ports": (70000,)},
        {"members": ()},
        {"members": ("10.0.0.1/24",)},
        {"members": ("0.0.0.0/0",)},
        {"members": ("10.0.0.0/24", "::/0")},
    ],
)
def test_an_order_that_makes_no_sense_is_none(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"door|host bits"):
        replace(SHUT, **wrong)


def test_a_vm_of_no_pair_has_no_door(vm: Vm) -> None:
    assert vm.look(None) is None
    assert vm.kernel.has == ""


def test_a_door_is_shut_once_the_kernel_has_it_and_nobody_stands_in_it(vm: Vm) -> None:
    vm.kernel.clients = ["0 0 10.0.0.5:9092 192.168.1.9:40112", "0 0 10.0.0.5:9092 10.0.0.6:40113"]
    status = vm.keep(SHUT)
    assert status.is_shut
    assert vm.kernel.clients == ["0 0 10.0.0.5:9092 10.0.0.6:40113"], "members go on"
    vm.kernel.clients, vm.kernel.can_end = ["0 0 10.0.0.5:9092 192.168.1.9:40114"], False
    status = vm.keep(SHUT)
    assert (status.is_in_force, status.connections, status.is_shut) == (True, 1, False)


def test_where_nobody_can_count_nothing_is_proved(vm: Vm) -> None:
    vm.kernel.can_count = False
    status = vm.keep(SHUT)
    assert (status.is_in_force, status.connections, status.is_shut) == (True, None, False)


def test_rules_that_the_kernel_refuses_prove_nothing(vm: Vm) -> None:
    vm.kernel.refuses = "Error: syntax"
    status = vm.keep(SHUT)
    assert not status.is_shut
    assert "syntax" in status.problem
    vm.kernel.refuses = ""
    assert vm.keep(SHUT).is_shut


def test_rules_that_somebody_took_away_are_there_again(vm: Vm) -> None:
    vm.keep(SHUT)
    vm.kernel.has = ""
    assert vm.keep(SHUT).is_shut
    assert vm.kernel.is_shut


def test_a_primary_that_was_dead_boots_shut_until_the_server_says_otherwise(vm: Vm) -> None:
    """What it was told before it died, and its document on disk, say open: it may have been taken over from."""
    assert vm.keep(OPEN).state is DoorAccess.OPEN
    vm.boot()
    assert vm.keep(OPEN, confirmed=False).is_shut
    assert vm.kernel.is_shut
    assert vm.keep(None, confirmed=False).is_shut, "nor does an agent need to know the order any more"
    assert vm.keep(OPEN).state is DoorAccess.OPEN
    assert not vm.kernel.is_shut


def test_an_agent_that_begins_anew_leaves_the_door_as_it_is(vm: Vm) -> None:
    vm.keep(OPEN)
    vm.begin()
    assert vm.keep(OPEN, confirmed=False).state is DoorAccess.OPEN
    assert vm.keep(None, confirmed=False).state is DoorAccess.OPEN
    vm.keep(replace(SHUT, epoch=6))
    vm.begin()
    assert vm.keep(replace(SHUT, epoch=6), confirmed=False).is_shut


def test_an_order_of_an_earlier_epoch_is_not_followed_and_is_told(vm: Vm) -> None:
    """A server that was restored from a backup, or one that was frozen, knows less than this VM."""
    vm.keep(replace(SHUT, epoch=6))
    status = vm.keep(OPEN)
    assert status.is_shut
    assert (status.epoch, "an order of epoch 5 came after one of 6" in status.problem) == (6, True)


def test_another_word_of_the_same_epoch_is_not_followed(vm: Vm) -> None:
    """A server that was restored counts from where it was: it comes to an epoch that was given before."""
    vm.keep(SHUT)
    status = vm.keep(replace(SHUT, state=DoorAccess.OPEN))
    assert status.is_shut
    assert "epoch 4 was shut before, and is open now" in status.problem
    assert vm.keep(replace(SHUT, members=("10.0.0.0/23", "10.0.9.7/32"))).is_shut
    assert "10.0.0.0/23" in vm.kernel.has, "members come and go within an epoch"


def test_epochs_of_another_pair_are_others(vm: Vm) -> None:
    """This VM was away while its cluster left one pair and came to another: that word is the server's alone to give."""
    vm.keep(replace(SHUT, epoch=9))
    another = replace(OPEN, pair="p2", epoch=1)
    assert vm.keep(another, confirmed=False).is_shut
    status = vm.keep(another)
    assert (status.state, status.pair, status.epoch, status.problem) == (DoorAccess.OPEN, "p2", 1, "")


def test_who_was_counted_before_the_order_proves_nothing(vm: Vm) -> None:
    vm.keep(SHUT)
    vm.now_s -= 9.5
    vm.keep(OPEN)
    vm.kernel.clients, vm.kernel.can_end = ["0 0 10.0.0.5:9092 192.168.1.9:40112"], False
    vm.now_s -= 9.5
    assert vm.keep(replace(SHUT, epoch=6)).connections == 1


def test_thousands_of_clients_are_ended_at_once(vm: Vm) -> None:
    vm.kernel.clients = [f"0 0 10.0.0.5:9092 192.168.1.9:{port}" for port in range(20_000, 23_000)]
    assert vm.keep(SHUT).is_shut
    assert vm.kernel.ends == 1


def test_a_table_that_is_gone_right_after_it_was_loaded_proves_nothing(vm: Vm) -> None:
    vm.kernel.loses = True
    status = vm.keep(SHUT)
    assert not status.is_shut
    assert "somebody took it away" in status.problem
    vm.kernel.loses = False
    assert vm.keep(SHUT).is_shut


def test_a_document_without_an_order_takes_no_door_away(vm: Vm) -> None:
    """A server of an earlier release writes none."""
    vm.keep(SHUT)
    assert vm.keep(None).is_shut
    assert vm.kernel.is_shut


def test_a_cluster_of_no_pair_any_more_has_no_door_also_after_a_boot(vm: Vm) -> None:
    vm.keep(SHUT)
    assert vm.look(replace(SHUT, epoch=7, state=DoorAccess.NONE)) is None
    assert vm.kernel.has == ""
    vm.boot()
    assert vm.look(None, confirmed=False) is None
    assert vm.look(replace(SHUT, epoch=7, state=DoorAccess.NONE), confirmed=False) is None


def test_what_is_kept_and_cannot_be_read_changes_nothing(vm: Vm) -> None:
    vm.keep(SHUT)
    (vm.folder / "client-door.json").write_text("{")
    with pytest.raises(OSError, match="the door stays as it is"):
        vm.keep(OPEN)
    assert vm.kernel.is_shut


def test_nothing_but_the_servers_word_since_the_boot_opens_a_door_that_was_shut(tmp_path: Path) -> None:
    """All short histories: an order of the last document, a boot or a new agent, an order again."""
    said = product((4, 5), (DoorAccess.OPEN, DoorAccess.SHUT))
    orders = [None, *(replace(SHUT, epoch=epoch, state=state) for epoch, state in said)]
    histories = product(orders, ("boot", "begin"), orders, (True, False))
    for number, (first, between, second, confirmed) in enumerate(histories):
        folder = tmp_path / str(number)
        folder.mkdir()
        vm = Vm(folder)
        before = vm.look(first)
        getattr(vm, between)()
        after = vm.look(second, confirmed=confirmed)
        was_open = before is None or before.state is DoorAccess.OPEN
        if after is None or after.state is DoorAccess.SHUT:
            continue
        by_server = confirmed and second is not None and second.state is DoorAccess.OPEN and after.epoch == second.epoch
        goes_on = between == "begin" and was_open and first is not None and after.epoch == first.epoch
        assert by_server or goes_on, (first, between, second, confirmed)


@pytest.mark.parametrize(
    ("line", "is_client"),
    [
        ("0 0 10.0.0.5:9092 192.168.1.9:40112", True),
        ("0 0 10.0.0.5:9092 10.0.0.200:40112", False),
        ("0 0 10.0.0.5:9092 10.0.9.7:40112", False),
        ("0 0 [::ffff:10.0.0.5]:9092 [::ffff:192.168.1.9]:40112", True),
        ("0 0 [::ffff:10.0.0.5]:9092 [::ffff:10.0.0.7]:40112", False),
        ("0 0 [fd00:1::5]:9092 [fd00:1::6]:40112", False),
        ("0 0 [2001:db8::5]:9092 [2001:db8::6]:40112", True),
        ("0 0 127.0.0.1:9092 127.0.0.1:40112", False),
        ("0 0 192.168.1.5:9092 192.168.1.5:40112", False),
        ("0 0 [fe80::1%eth0]:9092 [fe80::2%eth0]:40112", True),
        ("0 0 [fe80::1]%eth0:9092 [fe80::2]%eth0:40112", True),
        ("", False),
    ],
)
def test_who_stands_in_the_door_is_read_from_what_ss_lists(line: str, is_client: bool) -> None:
    assert len(client_connections(line, SHUT)) == is_client


@pytest.mark.parametrize("line", ["Cannot open netlink socket", "0 0 here there"])
def test_a_list_that_nobody_can_read_counts_nobody_as_gone(line: str) -> None:
    with pytest.raises(ToolFailed, match="nobody can read"):
        client_connections(line, SHUT)
