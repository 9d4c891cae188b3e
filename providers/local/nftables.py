"""Rules of the kernel's packet filter in a network namespace, by netlink: no program has to be installed for it.

Numbers and layouts are those of linux/netfilter/nf_tables.h and nfnetlink.h. A table is replaced as a whole in one
batch: there are the old rules or the new ones, never half of either.
"""

import socket
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from ipaddress import IPv4Address

_NETFILTER, _IPV4, _NFTABLES = 12, 2, 10
_BATCH_BEGIN, _BATCH_END, _NEW_TABLE, _DELETE_TABLE, _NEW_CHAIN, _NEW_RULE = 16, 17, 0, 2, 3, 6
_REQUEST, _ACK, _CREATE, _APPEND = 0x1, 0x4, 0x400, 0x800
_NESTED, _ERROR = 0x8000, 2
_REGISTER, _TIMEOUT_S = 1, 5.0
_EQUAL, _LESS = 0, 2
_TO_NETWORK_ORDER = 1

Expression = bytes
"""One step of a rule, encoded."""


class Hook(IntEnum):
    """Where packets of a machine pass."""

    INPUT = 1
    OUTPUT = 3
    POSTROUTING = 4


class FilterRefused(OSError):
    """The kernel does not take the rules. What now: give up; it lacks nf_tables, or the right."""


@dataclass(frozen=True, slots=True)
class Chain:
    """The rules of one hook, first to last; `kind` is `filter` or `nat`."""

    hook: Hook
    rules: Sequence[Sequence[Expression]]
    kind: str = "filter"
    priority: int = 0


def replace_table(filters: socket.socket, name: str, chains: Sequence[Chain]) -> None:
    """The table has exactly these chains afterwards; with none it is gone. Raises `FilterRefused`."""
    table = _attribute(1, _text(name))
    messages = [(_NEW_TABLE, _CREATE, table), (_DELETE_TABLE, 0, table)]
    messages += [(_NEW_TABLE, _CREATE, table)] if chains else []
    for number, chain in enumerate(chains):
        of_table, called = _attribute(1, _text(name)), _text(f"{chain.kind}-{number}")
        hook = _number(1, chain.hook) + _attribute(2, struct.pack("!i", chain.priority))
        about = of_table + _attribute(3, called) + _nest(4, hook) + _attribute(7, _text(chain.kind))
        messages.append((_NEW_CHAIN, _CREATE, about))
        for rule in chain.rules:
            steps = _nest(4, b"".join(_nest(1, step) for step in rule))
            messages.append((_NEW_RULE, _CREATE | _APPEND, of_table + _attribute(2, called) + steps))
    _send(filters, messages)


def filter_socket() -> socket.socket:
    """Speaks to the packet filter of the namespace the calling thread is in."""
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETFILTER)


def from_address(address: str) -> tuple[Expression, ...]:
    """Matches packets that come from there."""
    return _loaded(1, 12, 4), _compared(_EQUAL, IPv4Address(address).packed)


def to_address(address: str) -> tuple[Expression, ...]:
    """Matches packets that go there."""
    return _loaded(1, 16, 4), _compared(_EQUAL, IPv4Address(address).packed)


def through(device: str, hook: Hook) -> tuple[Expression, ...]:
    """Matches packets that pass this device: in at `INPUT`, else out."""
    key = 6 if hook is Hook.INPUT else 7
    return _meta(key), _compared(_EQUAL, device.encode().ljust(16, b"\0"))


def tcp_to_port(port: int) -> tuple[Expression, ...]:
    """Matches TCP to that port."""
    return _meta(16), _compared(_EQUAL, b"\x06"), _loaded(2, 2, 2), _compared(_EQUAL, struct.pack("!H", port))


def until(unix_ns: int) -> tuple[Expression, ...]:
    """Matches before that moment, by the kernel's own clock: what is to end needs nobody to end it."""
    return _meta(30), _in_network_order(8), _compared(_LESS, struct.pack("!Q", unix_ns))


def one_in(share: float) -> tuple[Expression, ...]:
    """Matches this share of packets, at random."""
    numbers = _number(1, _REGISTER) + _number(2, 10_000) + _number(3, 1)
    return _step("numgen", numbers), _in_network_order(4), _compared(_LESS, struct.pack("!I", round(share * 10_000)))


def dropped() -> tuple[Expression, ...]:
    """The packet goes nowhere, and nobody is told."""
    verdict = _nest(2, _nest(2, _number(1, 0)))
    return (_step("immediate", _number(1, 0) + verdict),)


def sent_on_to(address: str) -> tuple[Expression, ...]:
    """The connection goes there instead, to the same port."""
    value = _nest(2, _attribute(1, IPv4Address(address).packed))
    target = _number(1, 1) + _number(2, _IPV4) + _number(3, _REGISTER)
    return _step("immediate", _number(1, _REGISTER) + value), _step("nat", target)


def under_own_address() -> tuple[Expression, ...]:
    """The connection leaves under the address of the device it leaves by."""
    return (_step("masq", b""),)


def _loaded(base: int, offset: int, length: int) -> Expression:
    return _step("payload", _number(1, _REGISTER) + _number(2, base) + _number(3, offset) + _number(4, length))


def _meta(key: int) -> Expression:
    return _step("meta", _number(1, _REGISTER) + _number(2, key))


def _compared(operator: int, value: bytes) -> Expression:
    return _step("cmp", _number(1, _REGISTER) + _number(2, operator) + _nest(3, _attribute(1, value)))


def _in_network_order(size: int) -> Expression:
    of = _number(1, _REGISTER) + _number(2, _REGISTER) + _number(3, _TO_NETWORK_ORDER)
    return _step("byteorder", of + _number(4, size) + _number(5, size))


def _step(name: str, data: bytes) -> Expression:
    return _attribute(1, _text(name)) + _nest(2, data)


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)


def _nest(kind: int, value: bytes) -> bytes:
    return _attribute(kind | _NESTED, value)


def _number(kind: int, value: int) -> bytes:
    return _attribute(kind, struct.pack("!I", value))


def _text(value: str) -> bytes:
    return value.encode() + b"\0"


def _send(filters: socket.socket, messages: Sequence[tuple[int, int, bytes]]) -> None:
    """One batch: all of it or nothing. Raises `FilterRefused`."""
    body = [_message(_NFTABLES << 8 | kind, flags | _ACK, n, 0, data) for n, (kind, flags, data) in enumerate(messages)]
    begin, end = (_message(kind, 0, 0, _NFTABLES, b"") for kind in (_BATCH_BEGIN, _BATCH_END))
    filters.settimeout(_TIMEOUT_S)
    filters.sendto(begin + b"".join(body) + end, (0, 0))
    answered = 0
    while answered < len(messages):
        for code in _answers(filters.recv(65536)):
            if code:
                raise FilterRefused(-code, "the kernel's packet filter does not take the rules")
            answered += 1


def _message(kind: int, flags: int, sequence: int, resource: int, data: bytes) -> bytes:
    family = 0 if kind in (_BATCH_BEGIN, _BATCH_END) else _IPV4
    body = struct.pack("!BBH", family, 0, resource) + data
    return struct.pack("=IHHII", 16 + len(body), kind, flags | _REQUEST, sequence, 0) + body


def _answers(data: bytes) -> Iterable[int]:
    while len(data) >= 16:
        length, kind = struct.unpack_from("=IH", data)
        if kind == _ERROR:
            yield struct.unpack_from("=i", data, 16)[0]
        data = data[(length + 3) & ~3 :]
