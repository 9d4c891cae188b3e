"""Controllers asked by themselves, not through a broker: in ZooKeeper mode brokers do not pass their messages on.

A controller answers no metadata request, which every client library begins with, so this is one message over a socket
of its own. Only the leader describes the quorum; the others answer NOT_LEADER_OR_FOLLOWER (Kafka 3.9, KIP-919).
"""

import socket
import ssl
import struct
from collections.abc import Iterable
from contextlib import closing

from kafka.protocol.admin import DescribeQuorumResponse

from agent.host_port import HostPort
from controlplane.kafka.deadline import Deadline
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.metadata_log import DESCRIBE, MetadataLog, log_of, quorum_request

_VERSION = 2
"""With directory ids; Kafka 3.9 knows it, and no cluster of an older one migrates."""
_ANSWER_S = 2.0
_LARGEST_BYTES = 2**20


def read_log(
    endpoints: Iterable[str], where: str, deadline: Deadline, tls: ssl.SSLContext | None = None
) -> MetadataLog:
    """By the first of these `host:port` that leads; `tls` is who asks, None where they speak plaintext. Raises
    KafkaUnavailable when none does, with what each said."""
    said = []
    for endpoint in endpoints:
        try:
            return _described(endpoint, f"{where}, controller at {endpoint}", deadline.capped(_ANSWER_S), tls)
        except KafkaUnavailable as fault:
            said.append(f"{endpoint}: {fault.why}")
    why = "no controller leads it (" + ("; ".join(said) or "none is known") + ")"
    raise KafkaUnavailable(
        what=DESCRIBE,
        where=where,
        why=why,
        next_step="Kedge's server has to reach the controllers' port while brokers are in ZooKeeper mode.",
    )


def _described(endpoint: str, where: str, timeout_s: float, tls: ssl.SSLContext | None) -> MetadataLog:
    request = quorum_request()
    request.API_VERSION = _VERSION
    request.with_header(correlation_id=1, client_id="kedge")
    try:
        answer = _asked(endpoint, request.encode(header=True, framed=True), timeout_s, tls)
    except (OSError, struct.error) as error:
        raise KafkaUnavailable(what=DESCRIBE, where=where, why=str(error) or type(error).__name__) from error
    return log_of(DescribeQuorumResponse.decode(answer, version=_VERSION, header=True), where)


def _asked(endpoint: str, message: bytes, timeout_s: float, tls: ssl.SSLContext | None) -> bytes:
    """One message and its answer, both with the length before them."""
    with closing(_dialled(endpoint, timeout_s, tls)) as line:
        line.settimeout(timeout_s)
        line.sendall(message)
        (size,) = struct.unpack(">i", _read(line, 4))
        if not 0 < size <= _LARGEST_BYTES:
            raise OSError(f"an answer of {size} bytes is none of Kafka's")
        return _read(line, size)


def _dialled(endpoint: str, timeout_s: float, tls: ssl.SSLContext | None) -> socket.socket:
    at = HostPort.parse(endpoint)
    plain = socket.create_connection((at.host, at.port), timeout_s)
    try:
        return tls.wrap_socket(plain, server_hostname=at.host) if tls is not None else plain
    except BaseException:
        plain.close()
        raise


def _read(line: socket.socket, size: int) -> bytes:
    read = b""
    while len(read) < size:
        part = line.recv(size - len(read))
        if not part:
            raise OSError("it hung up")
        read += part
    return read
