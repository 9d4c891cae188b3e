"""Users of the demo's cluster: declared, waited for, their passwords taken, and what they may not do shown."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from controlplane.api.schemas import kafka_users as api
from controlplane.cli.client import Client
from controlplane.cli.demo.clients import NOBODY, DemoClients, Properties, answer_to_a_record, signed_in
from controlplane.cli.demo.house import DemoFailed

WRITER, READER, AUDITOR = "orders-writer", "orders-reader", "orders-auditor"
DECLARED_WITHIN_S = 120.0
_LOOK_S = 0.2
Answer = Callable[[str, Properties, str], str]
"""What comes of a record, by brokers, who writes it and the topic."""
_REFUSALS = {
    "_TRANSPORT": "hung up on, the port speaks TLS alone",
    "_ALL_BROKERS_DOWN": "hung up on, the port speaks TLS alone",
    "_AUTHENTICATION": "not let in",
    "TOPIC_AUTHORIZATION_FAILED": "refused, no rule allows it",
}
"""What librdkafka calls them."""


def wait_for_users(
    client: Client, cluster: str, *, within_s: float = DECLARED_WITHIN_S, sleep: Callable[[float], None] = time.sleep
) -> list[api.KafkaUserOut]:
    """All declared ones, once they are as declared. Raises DemoFailed with what keeps one from it."""
    deadline = time.monotonic() + within_s
    while True:
        users = client.kafka_users(cluster).users
        if all(user.state == "InSync" for user in users):
            return users
        if time.monotonic() > deadline:
            late = "; ".join(f"{u.name} is {u.state} {u.message}".strip() for u in users if u.state != "InSync")
            raise DemoFailed(f"users are not as declared after {within_s:.0f} s: {late}")
        sleep(_LOOK_S)


def clients_of(client: Client, cluster: str, ca: Path) -> DemoClients:
    """Takes the users' passwords, which is possible once, and writes the CA that clients believe to `ca`."""
    ca.write_text(client.endpoints(cluster).ca)

    def signed(user: str) -> Properties:
        return signed_in(user, client.collect_password(cluster, user).password, ca)

    return DemoClients(writer=signed(WRITER), reader=signed(READER), watcher=signed(AUDITOR))


def refusals(
    bootstrap: str, clients: DemoClients, topic: str, *, answer_to: Answer = answer_to_a_record
) -> Mapping[str, str]:
    """Who tried to write to a topic, and what came of it. Raises DemoFailed where somebody was let in."""
    wrong = {**clients.writer, "sasl.password": "a guess"}
    tried = {
        "nobody, in plaintext": NOBODY,
        f"{WRITER} with a wrong password": wrong,
        f"{READER}, who may only read": clients.reader,
    }
    answers = {who: answer_to(bootstrap, client, topic) for who, client in tried.items()}
    if not all(answer in _REFUSALS for answer in answers.values()):
        raise DemoFailed(f"each of these had to be refused: {answers}")
    return {who: _REFUSALS[answer] for who, answer in answers.items()}
