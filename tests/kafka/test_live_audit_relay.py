"""A relay apart, on a real broker and a real PostgreSQL: processes of their own, each as its own Unix user and by its
own role. What was asked of the loop is in the topic in order, whichever of them is killed.
"""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.contract.apart import LOOP_USER, Houses, Part, houses_on
from tests.contract.server_process import eventually
from tests.databases import APP, RELAY, as_role, postgres_copy
from tests.kafka_processes import KafkaProcesses
from tests.kafka_topics import create_topic
from tests.postgres_server import PostgresServer

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.postgres,
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.geteuid() != 0, reason="two Unix users need root"),
]

RELAY_USER = 61003
WITHIN_S = 120.0


class Relayed:
    """A loop, relays beside it, and the topic."""

    def __init__(self, houses: Houses, kafka: KafkaProcesses, topic: str) -> None:
        self._houses, self._kafka, self._topic = houses, kafka, topic

    def loop(self, *, apart: bool) -> Part:
        settings = {"KEDGE_TERRAFORM_STATE": "http", "KEDGE_AUDIT_TOPIC": self._binding(apart=apart)}
        loop = self._houses.begun("loop", LOOP_USER, as_role(self._houses.database, APP), **settings)
        loop.wait_until_it_listens()
        eventually(lambda: loop.client.get("/v1/version").json()["leader"], loop)
        return loop

    def relay(self) -> Part:
        home = self._houses.home("relay", RELAY_USER)
        properties = home / "audit.properties"
        if not properties.exists():
            properties.write_text("security.protocol=plaintext\n")
            properties.chmod(0o600)
            os.chown(properties, RELAY_USER, RELAY_USER)
        binding = self._binding(properties_file=str(properties))
        database = as_role(self._houses.database, RELAY)
        relay = self._houses.begun("relay", RELAY_USER, database, KEDGE_AUDIT_TOPIC=binding)
        eventually(lambda: "relaying the audit to" in relay.log, relay)
        return relay

    def written(self) -> list[dict[str, Any]]:
        """The document of each record."""
        consumer = Consumer({"bootstrap.servers": ",".join(self._kafka.bootstrap), "group.id": "test", "log_level": 0})
        try:
            at = TopicPartition(self._topic, 0, 0)
            _, end = consumer.get_watermark_offsets(at, 10)
            consumer.assign([at])
            found = consumer.consume(end, timeout=20) if end else []
            assert len(found) == end, "a record is missing"
            return [json.loads(message.value() or b"") for message in found]
        finally:
            consumer.close()

    def positions(self) -> list[int]:
        return [int(one["position"]) for one in self.written()]

    def until_written(self, count: int, part: Part) -> None:
        eventually(lambda: self.positions()[-1:] == [count], part, timeout_s=WITHIN_S)

    def _binding(self, **more: object) -> str:
        return json.dumps({"bootstrap": self._kafka.bootstrap, "topic": self._topic, **more})


def ask(loop: Part, count: int) -> None:
    """Calls that change nothing, each an entry of the audit."""
    for _ in range(count):
        assert loop.client.post("/v1/clusters/nobodys/pause", json={"reason": "x"}).status_code == 404


def entries(loop: Part) -> list[dict[str, Any]]:
    return list(loop.client.get("/v1/audit?after=0&limit=1000").json()["entries"])


def timer(loop: Part) -> dict[str, Any]:
    """The timer, as the page *Loop* has it."""
    (found,) = [one for one in loop.client.get("/v1/loop").json()["timers"] if one["of"] == "audit"]
    return dict(found)


def told(loop: Part) -> str:
    """Its problem."""
    return str(timer(loop)["problem"])


def metrics(loop: Part) -> dict[str, float]:
    """What Prometheus is told of the topic, by name and labels."""
    lines = loop.client.get("/v1/metrics").text.splitlines()
    found = (line.removeprefix("kedge_audit_topic_").rpartition(" ") for line in lines if "kedge_audit_topic_" in line)
    return {name: float(value) for name, _, value in found if not name.startswith("#")}


def doctor(loop: Part) -> tuple[bool, str]:
    found = {one["what"]: one for one in loop.client.get("/v1/doctor?cloud=local").json()["database"]}
    return found["the audit's topic"]["well"], found["the audit's topic"]["told"]


@pytest.fixture
def relayed(
    postgres_server: PostgresServer, one_broker: KafkaProcesses, request: pytest.FixtureRequest
) -> Iterator[Relayed]:
    topic = str(request.node.name).replace("_", "-")[:60]
    create_topic(one_broker.bootstrap, topic, partitions=3, rf=1)
    database = postgres_copy(postgres_server)
    try:
        with houses_on(database) as houses:
            yield Relayed(houses, one_broker, topic)
    finally:
        postgres_server.drop_database(database)


def test_the_topic_is_the_audit_in_order_though_one_of_two_relays_is_killed(relayed: Relayed) -> None:
    loop = relayed.loop(apart=True)
    ask(loop, 3)
    eventually(lambda: "no relay is at work" in told(loop), loop, timeout_s=WITHIN_S)
    assert doctor(loop)[0] is False
    assert (metrics(loop)["problem"], metrics(loop)['state{by="relay",state="no_relay"}']) == (1, 1)
    assert relayed.positions() == [], "the server writes nothing"

    first = relayed.relay()
    relayed.until_written(3, first)
    second = relayed.relay()
    eventually(lambda: "role kedge_relay, writes the audit to its topic: this one waits" in second.log, second)
    eventually(lambda: told(loop) == "", loop, timeout_s=WITHIN_S)
    well, words = doctor(loop)
    assert well
    assert "the relay (role kedge_relay) has written entry 3 of 3" in words
    assert words.endswith("; relays that wait: 1 of role kedge_relay")
    eventually(lambda: timer(loop)["note"] == words, loop, timeout_s=WITHIN_S)
    assert metrics(loop)['waiting_relays{role="kedge_relay"}'] == 1
    assert (metrics(loop)["problem"], metrics(loop)["newest_entry"], metrics(loop)["last_entry"]) == (0, 3, 3)

    # Killed with entries on their way: the other one goes on, from what the topic holds.
    ask(loop, 60)
    eventually(lambda: len(relayed.positions()) > 3, first, timeout_s=WITHIN_S)
    first.end(signal.SIGKILL)
    ask(loop, 20)
    kept = entries(loop)
    relayed.until_written(len(kept), second)
    found = relayed.written()
    assert [one["position"] for one in found] == list(range(1, len(kept) + 1)), "each once, in order"
    assert [one["sha256"] for one in found] == [one["sha256"] for one in kept]
    eventually(lambda: told(loop) == "", loop, timeout_s=WITHIN_S)
    eventually(lambda: metrics(loop)['waiting_relays{role="kedge_relay"}'] == 0, loop, timeout_s=WITHIN_S)
    assert doctor(loop)[0], "a lone relay is well"
    assert "wait" not in doctor(loop)[1]

    # Asked to stop, it stops; the next one goes on.
    assert second.end(signal.SIGTERM) == 0, second.log
    eventually(lambda: "no relay is at work" in told(loop), loop, timeout_s=WITHIN_S)
    ask(loop, 2)
    third = relayed.relay()
    relayed.until_written(len(kept) + 2, third)
    assert relayed.positions() == list(range(1, len(kept) + 3))

    home = Path(third.home)
    assert sorted(path.name for path in home.iterdir()) == ["audit.properties"], "it keeps no file"
    assert "Traceback" not in first.log + second.log + third.log + loop.log


@pytest.mark.soak
def test_a_server_that_writes_too_waits_for_the_relay_and_goes_on_where_that_was_killed(relayed: Relayed) -> None:
    loop = relayed.loop(apart=False)
    ask(loop, 3)
    relayed.until_written(3, loop)
    eventually(lambda: metrics(loop).get("last_entry") == 3, loop, timeout_s=WITHIN_S)
    assert metrics(loop)['state{by="server",state="reached"}'] == 1
    relay = relayed.relay()
    eventually(lambda: "role kedge_relay, writes the audit" in told(loop), loop, timeout_s=WITHIN_S)
    assert "`apart = true` in [audit_topic]" in told(loop)
    assert metrics(loop)['state{by="server",state="turn_taken"}'] == 1
    ask(loop, 30)
    eventually(lambda: len(relayed.positions()) > 3, relay, timeout_s=WITHIN_S)
    relay.end(signal.SIGKILL)
    ask(loop, 5)
    relayed.until_written(38, loop)
    eventually(lambda: told(loop) == "", loop, timeout_s=WITHIN_S)
    assert relayed.positions() == list(range(1, 39)), "each once, in order"
