"""What no ZooKeeper server says: told as such, never a crash."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from controlplane.kafka.zookeeper.four_letter_words import health_of
from controlplane.kafka.zookeeper.members import MemberHealth, ZooKeeperMember


@pytest.fixture
def answers() -> Iterator[list[bytes]]:
    """What a server on `PORT` says to each who asks, one after the other."""
    said: list[bytes] = []
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.settimeout(10)
        PORT[:] = [server.getsockname()[1]]

        def serve() -> None:
            while True:
                try:
                    talk, _ = server.accept()
                except OSError:
                    return
                with talk:
                    talk.recv(16)
                    talk.sendall(said.pop(0))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield said
        server.shutdown(socket.SHUT_RDWR)
    thread.join(10)


PORT: list[int] = []


def _asked() -> MemberHealth:
    return health_of(ZooKeeperMember(1, "127.0.0.1", PORT[0], 2888, 3888, "participant"), timeout_s=5)


@pytest.mark.parametrize("answer", [b"Mode: leader\nZxid: many\n", b"Zxid: 0x1\n", b"who are you?", b""])
def test_a_server_that_says_something_else_is_told_with_its_words(answers: list[bytes], answer: bytes) -> None:
    answers.append(answer)
    health = _asked()
    assert not health.mode
    assert (answer.decode().strip() or "nothing") in health.problem


def test_a_server_that_says_how_it_is_is_read(answers: list[bytes]) -> None:
    answers.append(b"Mode: leader\nZxid: 0x10\n")
    assert _asked() == MemberHealth(1, mode="leader", zxid=16)
