"""ZooKeeper's four-letter words: `srvr` and `mntr` tell whether a server serves, in which role, and how it is.

ZooKeeper Administrator's Guide, "The Four Letter Words". A server without a majority accepts connections and answers
"This ZooKeeper instance is not currently serving requests".
"""

import contextlib
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass

from agent.host_port import HostPort
from agent.probes import ProbeResult

_TIMEOUT_S = 1.0
_MOST_BYTES = 1 << 20

DIGEST: Mapping[str, str] = {
    "outstanding_requests": "zk_outstanding_requests",
    "latency_avg_ms": "zk_avg_latency",
    "latency_max_ms": "zk_max_latency",
    "updates_total": "zk_cnt_updatelatency",
    "update_ms_total": "zk_sum_updatelatency",
    "connections": "zk_num_alive_connections",
    "sessions": "zk_global_sessions",
    "znodes": "zk_znode_count",
    "data_bytes": "zk_approximate_data_size",
    "fsync_avg_ms": "zk_avg_fsynctime",
    "synced_followers": "zk_synced_followers",
    "pending_syncs": "zk_pending_syncs",
    "quorum_size": "zk_quorum_size",
    "uptime_ms": "zk_uptime",
}
"""Short name -> `mntr`'s. What only a leader tells is missing from the others."""


@dataclass(frozen=True, slots=True)
class ServerMode:
    """How a server stands. `mode` is leader, follower or observer, "" while it serves nobody. `zxid` is the last
    transaction it has applied."""

    mode: str
    zxid: int


def ask(address: str, port: int, word: str, tls: ssl.SSLContext | None = None) -> str:
    """The answer, over `tls` where the server speaks it. Raises `OSError` when there is none."""
    with contextlib.ExitStack() as closing:
        talk = closing.enter_context(socket.create_connection((address, port), timeout=_TIMEOUT_S))
        if tls is not None:
            talk = closing.enter_context(tls.wrap_socket(talk, server_hostname=address))
        talk.sendall(word.encode("ascii"))
        parts: list[bytes] = []
        while (part := talk.recv(65536)) and sum(map(len, parts)) < _MOST_BYTES:
            parts.append(part)
    return b"".join(parts).decode("utf-8", errors="replace")


def server_mode(srvr: str) -> ServerMode:
    """From an answer to `srvr`."""
    lines = dict(line.split(": ", 1) for line in srvr.splitlines() if ": " in line)
    zxid = 0
    with contextlib.suppress(ValueError):
        zxid = int(lines.get("Zxid", "0"), 16)
    return ServerMode(lines.get("Mode", ""), zxid)


def probe(address: str, port: int, tls: ssl.SSLContext | None = None) -> ProbeResult:
    """Up once the server serves clients, which it does when it leads or follows a leader it has caught up with."""
    try:
        answer = ask(address, port, "srvr", tls)
    except OSError as error:
        return ProbeResult("down", f"{HostPort(address, port)} does not answer: {error}")
    if server_mode(answer).mode:
        return ProbeResult("up")
    words = answer.strip() or "nothing"
    return ProbeResult("down", f'no leader with a majority: ZooKeeper at {HostPort(address, port)} says "{words}"')


def digest(srvr: str, mntr: str) -> dict[str, float]:
    """Numbers by short name. `serves`, `leads` and `observes` are 0 or 1; `zxid` is the last transaction applied."""
    stands = server_mode(srvr)
    lines = dict(line.split("\t", 1) for line in mntr.splitlines() if "\t" in line)
    numbers = {
        "serves": float(bool(stands.mode)),
        "leads": float(stands.mode == "leader"),
        "observes": float(stands.mode == "observer"),
        "zxid": float(stands.zxid),
    }
    for name, key in DIGEST.items():
        with contextlib.suppress(KeyError, ValueError):
            numbers[name] = float(lines[key])
    return numbers
