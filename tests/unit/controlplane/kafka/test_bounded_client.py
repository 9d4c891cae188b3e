"""A port that is open and says nothing holds nobody: real sockets, as a frozen broker has them."""

import socket
import ssl
import threading

import pytest
from kafka.errors import (
    IllegalSaslStateError,
    KafkaConnectionError,
    KafkaTimeoutError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
)
from kafka.net.transport import KafkaTCPTransport

from controlplane.kafka.bounded_client import _WholeAnswers, bounded_client, refusal


@pytest.mark.parametrize("protocol", ["SSL", "PLAINTEXT"])
def test_a_broker_that_says_nothing_is_given_up_in_time(protocol: str) -> None:
    """The library's own bootstrap never ended over TLS: no handshake of it has a limit."""
    before = threading.active_count()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = bounded_client(
            bootstrap_servers=[f"127.0.0.1:{silent.getsockname()[1]}"],
            security_protocol=protocol,
            ssl_context=ssl.create_default_context(),
        )
        client._net.start()
        with pytest.raises(KafkaTimeoutError):
            client._manager.bootstrap(100)
        client.close()
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (SaslAuthenticationFailedError("invalid credentials"), "its user name or password is wrong"),
        (UnsupportedSaslMechanismError("PLAIN"), "does not take this way of signing in"),
        (IllegalSaslStateError(), "asks for no user name and password at this port"),
        (KafkaTimeoutError(), ""),
    ],
)
def test_what_brokers_say_is_told_in_words(error: Exception, words: str) -> None:
    assert words in refusal(error, (), is_theirs=True)
    assert bool(refusal(error, (), is_theirs=True)) == bool(words)


def test_what_came_with_the_end_of_a_connection_is_heard_before_the_end() -> None:
    """Kafka hangs up with the answer that refuses a password."""
    here, there = socket.socketpair()
    with here, there:
        here.setblocking(False)
        transport = _WholeAnswers.__new__(_WholeAnswers)
        KafkaTCPTransport.__init__(transport, None, here)
        there.sendall(b"no")
        there.shutdown(socket.SHUT_WR)
        assert transport._sock_recv() == (b"no", None)
        data, ended = transport._sock_recv()
        assert (data, type(ended)) == (b"", KafkaConnectionError)
