"""Brokers that speak TLS: what their callers show them, and why it did not work, in words that tell what to do."""

import contextlib
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from agent.host_port import HostPort
from controlplane.kafka.client_access import Sasl

_CONNECT_S = 2.0
_ALERT_S = 0.5
"""TLS 1.3 tells a client that its certificate is refused with the first bytes after the handshake, or never."""

Addresses = Callable[[str, int], Sequence[str]]
"""(host, port) -> where that may be connected to. Raises OSError."""


class BrokerTls(Protocol):
    """By what brokers of a cluster, by its uid, are called. All but one raise KafkaUnavailable where nobody can say."""

    def context(self, cluster: str) -> ssl.SSLContext | None:
        """None for a cluster that speaks plaintext."""

    def sasl(self, cluster: str) -> Sasl | None:
        """By what name and password beside that; None where brokers ask for none."""

    def next_step(self, cluster: str) -> str:
        """What a person does where brokers do not take it, "" where nobody can do anything."""

    def properties(self, cluster: str) -> Mapping[str, str]:
        """The same as properties of librdkafka: keys in memory, no file. Empty for plaintext."""


def handshake_problem(bootstrap: Sequence[str], context: ssl.SSLContext | None, addresses: Addresses) -> str:
    """Why no broker there lets us in, looked for once more by a handshake of our own: "" where TLS is not the reason.

    A library that tries again until its time is over says none of it.
    """
    for text in bootstrap:
        at = HostPort.parse(text)
        with contextlib.suppress(OSError):
            for address in addresses(at.host, at.port):
                with socket.create_connection((address, at.port), timeout=_CONNECT_S) as connection:
                    said = _spoken_to(connection, at.host, context)
                return f"{text} {said}" if said else ""
    return ""


def _spoken_to(connection: socket.socket, host: str, context: ssl.SSLContext | None) -> str:
    if context is None:
        return _speaks_tls(connection)
    try:
        with context.wrap_socket(connection, server_hostname=host) as secured:
            secured.settimeout(_ALERT_S)
            with contextlib.suppress(TimeoutError):
                secured.recv(1)
    except ssl.SSLCertVerificationError as error:
        if error.verify_code in (_WRONG_NAME, _WRONG_ADDRESS):
            return f"shows a certificate that is not for {host} (wrong name): {error.verify_message}"
        return f"is not trusted: {error.verify_message}. It has to be of the CA this cluster is known by, and to count"
    except ssl.SSLError as error:
        if "ALERT" in (error.reason or ""):
            return f"does not let Kedge in: it refuses its certificate ({error.reason})"
        return f"speaks no TLS, and was dialled by it ({error.reason or error})"
    except ConnectionError:
        return "hangs up during the handshake: it speaks no TLS, or refuses Kedge's certificate"
    return ""


def _speaks_tls(connection: socket.socket) -> str:
    """Whether somebody who was spoken to in plaintext understands a TLS greeting."""
    anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE  # nothing is sent, and nothing believed
    with contextlib.suppress(OSError, ssl.SSLError), anybody.wrap_socket(connection):
        return "is a TLS port, and was dialled in plaintext"
    return ""


_WRONG_NAME, _WRONG_ADDRESS = 62, 64
"""X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH of OpenSSL."""
