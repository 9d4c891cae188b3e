"""ZooKeeper's four-letter words over a socket: how a server stands, also one that serves nobody."""

import contextlib
import socket
import ssl
from collections.abc import Mapping

from controlplane.kafka.zookeeper.members import MemberHealth, ZooKeeperMember

_MOST_BYTES = 1 << 16


def health_of(member: ZooKeeperMember, *, timeout_s: float, tls: ssl.SSLContext | None = None) -> MemberHealth:
    """By `srvr`, over `tls` where the server speaks it. Never raises: silence is an answer too, told in `problem`."""
    try:
        answer = _ask(member, b"srvr", timeout_s, tls)
    except OSError as error:
        return MemberHealth(member.id, problem=f"{member.endpoint} does not answer: {error}")
    lines = dict(line.split(": ", 1) for line in answer.splitlines() if ": " in line)
    return _health(member, lines) or MemberHealth(
        member.id, problem=f'{member.endpoint} says "{answer.strip() or "nothing"}"'
    )


def _health(member: ZooKeeperMember, lines: Mapping[str, str]) -> MemberHealth | None:
    """None where it is not what a server says."""
    try:
        return MemberHealth(member.id, mode=lines["Mode"], zxid=int(lines.get("Zxid", "0"), 16))
    except (KeyError, ValueError):
        return None


def _ask(member: ZooKeeperMember, word: bytes, timeout_s: float, tls: ssl.SSLContext | None) -> str:
    parts: list[bytes] = []
    with contextlib.ExitStack() as closing:
        talk = closing.enter_context(socket.create_connection((member.address, member.port), timeout=timeout_s))
        if tls is not None:
            talk = closing.enter_context(tls.wrap_socket(talk, server_hostname=member.address))
        talk.sendall(word)
        while (part := talk.recv(4096)) and sum(map(len, parts)) < _MOST_BYTES:
            parts.append(part)
    return b"".join(parts).decode("utf-8", errors="replace")
