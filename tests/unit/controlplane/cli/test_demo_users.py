"""Users of the demo: waited for, their passwords taken once, and who may not write refused."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from controlplane.cli.demo import users
from controlplane.cli.demo.clients import IN_PLAINTEXT, DemoClients, signed_in
from controlplane.cli.demo.house import DemoFailed


class Asked:
    """A server whose users are as declared after some looks."""

    def __init__(self, *, looks: int = 0, state: str = "Declared") -> None:
        self.looks, self._state = looks, state
        self.collected: list[str] = []

    def kafka_users(self, cluster: str) -> Any:
        self.looks -= 1
        state = self._state if self.looks >= 0 else "InSync"
        return SimpleNamespace(users=[SimpleNamespace(name=users.WRITER, state=state, message="Kafka refused")])

    def collect_password(self, cluster: str, user: str) -> Any:
        self.collected.append(user)
        return SimpleNamespace(password=f"{user}'s own")

    def endpoints(self, cluster: str) -> Any:
        return SimpleNamespace(ca="-----BEGIN CERTIFICATE-----\n")


def test_users_are_waited_for_until_kafka_has_them() -> None:
    server: Any = Asked(looks=3)
    waits: list[float] = []
    found = users.wait_for_users(server, "orders", sleep=waits.append)
    assert [user.state for user in found] == ["InSync"]
    assert len(waits) == 3


def test_a_user_that_does_not_come_to_be_is_named_with_the_reason() -> None:
    server: Any = Asked(looks=3, state="Degraded")
    with pytest.raises(DemoFailed, match="orders-writer is Degraded Kafka refused"):
        users.wait_for_users(server, "orders", within_s=-1.0, sleep=lambda _: None)


def test_each_password_is_taken_once_and_the_ca_is_written(tmp_path: Path) -> None:
    server: Any = Asked()
    clients = users.clients_of(server, "orders", tmp_path / "ca.pem")
    assert server.collected == [users.WRITER, users.READER, users.AUDITOR]
    assert (tmp_path / "ca.pem").read_text().startswith("-----BEGIN")
    assert clients.reader["sasl.username"] == users.READER
    assert clients.watcher["sasl.username"] == users.AUDITOR
    assert "own" not in repr(clients)


def test_somebody_who_is_let_in_without_a_right_fails_the_demo(tmp_path: Path) -> None:
    clients = DemoClients(*(signed_in(user, "x", tmp_path) for user in (users.WRITER, users.READER, users.AUDITOR)))
    told = iter(["_TRANSPORT", "_AUTHENTICATION", "TOPIC_AUTHORIZATION_FAILED", "_TRANSPORT", "OK", "no answer"])

    def answer(*_: object) -> str:
        return next(told)

    assert list(users.refusals("a:1", clients, "orders", answer_to=answer).values()) == [
        "hung up on, the port speaks TLS alone",
        "not let in",
        "refused, no rule allows it",
    ]
    with pytest.raises(DemoFailed, match="had to be refused"):
        users.refusals("a:1", clients, "orders", answer_to=answer)


def test_in_plaintext_nobody_signs_in() -> None:
    assert (IN_PLAINTEXT.writer, IN_PLAINTEXT.reader, IN_PLAINTEXT.watcher) == ({}, {}, {})
    IN_PLAINTEXT.dialer().close()
