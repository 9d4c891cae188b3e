"""Why a broker that speaks TLS does not let Kedge in, or is not believed: real sockets, each with its own words."""

import os
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from agent.certification import signing_request
from controlplane.kafka.tls import handshake_problem
from controlplane.storage.certificates.cluster_authority import ClusterAuthorities, founded
from events.ids import ClusterUid

HOST = "127.0.44.1"
NOW = datetime.now(UTC)
OURS, THEIRS = founded(ClusterUid("c0ffee"), now=NOW), founded(ClusterUid("decaf"), now=NOW)


def loaded(context: ssl.SSLContext, pem: str) -> ssl.SSLContext:
    with os.fdopen(os.memfd_create("test"), "wb") as file:
        file.write(pem.encode())
        file.flush()
        context.load_cert_chain(f"/proc/self/fd/{file.fileno()}")
    return context


def node(authorities: ClusterAuthorities = OURS, address: str = HOST) -> ssl.SSLContext:
    """A broker's side: it shows itself, and asks for a certificate of the cluster CA."""
    begun = signing_request()
    issued = authorities.certify_node(begun.csr_pem, (address,), now=NOW)
    context = loaded(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), f"{begun.key_pem}{issued.pem}")
    context.load_verify_locations(cadata=OURS.cluster.pem)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def kedge(authorities: ClusterAuthorities = OURS) -> ssl.SSLContext:
    identity = authorities.identity("server", now=NOW)
    context = loaded(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), f"{identity.key_pem}{identity.issued.pem}")
    context.load_verify_locations(cadata=OURS.cluster.pem)
    return context


@contextmanager
def listening(context: ssl.SSLContext | None) -> Iterator[str]:
    """A listener that ends each connection after its handshake; one in plaintext closes what makes no sense to it."""
    with socket.create_server((HOST, 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(5)
                    try:
                        if context is None:
                            connection.recv(1024)
                        else:
                            with context.wrap_socket(connection, server_side=True) as secured:
                                secured.recv(1)
                    except OSError:
                        continue

        threading.Thread(target=serve, daemon=True).start()
        yield f"{HOST}:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def found(there: ssl.SSLContext | None, shown: ssl.SSLContext | None) -> str:
    with listening(there) as address:
        return handshake_problem([address], shown, lambda host, port: (host,)).removeprefix(f"{address} ")


def test_who_is_let_in_has_no_problem_of_tls() -> None:
    assert found(node(), kedge()) == ""
    assert found(None, None) == ""


def test_a_broker_of_another_ca_is_not_trusted() -> None:
    assert found(node(THEIRS), kedge()).startswith("is not trusted: unable to get local issuer certificate")


def test_a_broker_at_an_address_that_is_not_its_own_has_the_wrong_name() -> None:
    assert found(node(address="10.0.0.7"), kedge()).startswith(
        f"shows a certificate that is not for {HOST} (wrong name)"
    )


def test_a_certificate_that_brokers_do_not_take_is_not_let_in() -> None:
    assert found(node(), kedge(THEIRS)).startswith("does not let Kedge in: it refuses its certificate")


def test_a_tls_port_that_is_dialled_in_plaintext_is_told() -> None:
    asks_nobody = node()
    asks_nobody.verify_mode = ssl.CERT_NONE
    for there in (node(), asks_nobody):
        assert found(there, None) == "is a TLS port, and was dialled in plaintext"


def test_a_plaintext_port_that_is_dialled_by_tls_is_told() -> None:
    assert "speaks no TLS" in found(None, kedge())


def test_nobody_at_that_address_is_no_matter_of_tls() -> None:
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
    assert handshake_problem([f"{HOST}:{port}"], kedge(), lambda host, _: (host,)) == ""
