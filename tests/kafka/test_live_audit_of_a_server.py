"""A whole `kedge server` with `[audit_topic]`: what is asked of it, over the API and by the command line, is read back
from a real broker with a consumer, though the server is killed in between; and a canary secret is not there.
"""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import Consumer, TopicPartition

from controlplane.storage.home import Home
from tests.contract.test_server_canary import spec
from tests.e2e.living_server import START_WITHIN_S, LivingServer
from tests.fakes.clouds.faults import Fault
from tests.fakes.clouds.hetzner import FakeHetzner, fake_hetzner
from tests.fakes.clouds.hetzner_hands import write_settings
from tests.kafka_processes import KafkaProcesses
from tests.kafka_topics import create_topic
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

TOPIC = "kedge-audit"
PARTITIONS = 3
CANARY = "canary" + secrets.token_hex(29)
"""A token of Hetzner has 64 signs."""

SPEC = spec() + "  rollout:\n    pause: true\n"


class House:
    """A home with the broker of its audit, and the server on it: the command, as anybody starts it."""

    def __init__(self, home: Home, kafka: KafkaProcesses) -> None:
        self._home, self._kafka = home, kafka
        self.server = LivingServer(home.path, {"HCLOUD_TOKEN": CANARY, "KEDGE_PLANNER__SPARK_MASTER": "off"})

    def start(self) -> None:
        self.server.start()

        def answers() -> bool:
            assert self.server.is_up, self.server.tail()
            return self.server.listens() and self.call("GET", "/v1/version").status_code == 200

        until(answers, "the server answers", timeout_s=START_WITHIN_S, told=self.server.tail)

    def call(self, method: str, path: str, body: object = None, token: str = "") -> httpx.Response:
        """By the home's token, or by another one."""
        shown = token or self._home.installation().token.get_secret_value()
        headers = {"Authorization": f"Bearer {shown}", "Idempotency-Key": secrets.token_hex(16)}
        with httpx.Client(base_url=self._url(), trust_env=False, timeout=60, headers=headers) as client:
            return client.request(method, path, json=body)

    def sign_in(self, name: str, password: str) -> int:
        """By the login form, as a browser does; the status."""
        with httpx.Client(base_url=self._url(), trust_env=False, timeout=60) as client:
            form = client.get("/login").text
            token = form.split('name="token" value="')[1].split('"')[0]
            return client.post("/login", data={"name": name, "password": password, "token": token}).status_code

    def kedge(self, *arguments: str, token: str = "") -> int:
        """The command line, in a process of its own; its exit status."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("KEDGE_")}
        shown = {"KEDGE_TOKEN": token} if token else {}
        environ = {**kept, "KEDGE_HOME": str(self._home.path), "HOME": str(self._home.path), **shown}
        command = [sys.executable, "-m", "controlplane.cli", *arguments]
        done = subprocess.run(command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        return done.returncode

    def entries(self) -> list[dict[str, Any]]:
        """Every entry of the audit, the oldest first, as the API tells it."""
        return list(self.call("GET", "/v1/audit?after=0&limit=1000").json()["entries"])

    def written(self, partition: int = 0) -> list[tuple[bytes, bytes]]:
        """Key and value of each record."""
        consumer = Consumer({"bootstrap.servers": ",".join(self._kafka.bootstrap), "group.id": "test", "log_level": 0})
        try:
            at = TopicPartition(TOPIC, partition, 0)
            _, end = consumer.get_watermark_offsets(at, 10)
            consumer.assign([at])
            found = consumer.consume(end, timeout=20) if end else []
            assert len(found) == end, "a record is missing"
            return [(m.key() or b"", m.value() or b"") for m in found]
        finally:
            consumer.close()

    def until_written(self, count: int) -> None:
        def there() -> bool:
            return len(self.written()) >= count

        until(there, f"{count} entries in the topic", timeout_s=60, every_s=0.3, told=self.server.tail)

    def _url(self) -> str:
        return str(json.loads((self._home.path / "server.json").read_text())["url"])


@pytest.fixture
def hetzner() -> Iterator[FakeHetzner]:
    with fake_hetzner(CANARY) as fake:
        yield fake


@pytest.fixture
def house(tmp_path: Path, one_broker: KafkaProcesses, hetzner: FakeHetzner) -> Iterator[House]:
    home = Home(tmp_path / "home")
    home.path.mkdir()
    write_settings(home.path / "hetzner.yaml", hetzner)
    properties = home.path / "audit.properties"
    properties.write_text(f"security.protocol=plaintext\nsasl.password={CANARY}\n")
    properties.chmod(0o600)
    (home.path / "kedge.toml").write_text(
        'agent_host = "127.0.0.1"\nagent_port = 0\n[audit_topic]\n'
        f'bootstrap = {json.dumps(one_broker.bootstrap)}\ntopic = "{TOPIC}"\nproperties_file = "{properties}"\n'
    )
    create_topic(one_broker.bootstrap, TOPIC, partitions=PARTITIONS, rf=1)
    house = House(home, one_broker)
    yield house
    house.server.stop()


def test_what_is_asked_of_a_server_is_in_its_topic_though_it_is_killed_in_between_and_no_secret_is(
    house: House, hetzner: FakeHetzner
) -> None:
    hetzner.faults.append(Fault("GET /servers", "unauthorized", 401, message=f"no such token: {CANARY}"))
    house.start()
    assert house.call("POST", "/v1/apply", {"text": SPEC}).json()["ok"]
    assert house.call("POST", "/v1/users", {"name": "eve"}).status_code < 300
    made = house.call("POST", "/v1/tokens", {"label": "eves", "role": "viewer"})
    viewer = str(made.json()["text"])
    assert house.call("POST", "/v1/clusters/orders/pause", {"reason": "x"}, token=viewer).status_code == 403
    assert house.call("POST", "/v1/clusters/orders/pause", {"reason": "x"}, token=CANARY).status_code == 401
    refused = SPEC.replace("version: 4.2.0", f"version: 4.2.0\n    config: {{sasl.jaas.config: {CANARY}}}")
    assert not house.call("POST", "/v1/apply", {"text": refused}).json().get("ok", False)
    assert house.sign_in("eve", CANARY) >= 400
    house.until_written(len(house.entries()))
    # What nobody waits for: the server dies before, while or after it is written.
    assert house.kedge("pause", "orders", "--reason", "by hand") == 0
    assert house.call("POST", "/v1/clusters/orders/resume", {"reason": "x"}, token=viewer).status_code == 403
    house.server.kill()
    house.start()
    assert house.kedge("resume", "orders", "--reason", "all is well") == 0
    assert house.kedge("delete", "orders", "--confirm", "orders", token=viewer) != 0
    kept = house.entries()
    house.until_written(len(kept))

    found = house.written()
    told = [json.loads(value) for _, value in found]
    assert [key.decode() for key, _ in found] == [str(n) for n in range(1, len(kept) + 1)]
    for entry, record in zip(kept, told, strict=True):
        assert {name: record[name] for name in entry if name != "at"} == {n: v for n, v in entry.items() if n != "at"}
    assert all(after["previous"] == before["sha256"] for before, after in pairwise(told))
    assert [(one["call"].split("/v1/")[-1], one["outcome"]) for one in told] == [
        ("apply", "done"),
        ("users", "done"),
        ("tokens", "done"),
        ("clusters/orders/pause", "denied"),
        ("clusters/orders/pause", "denied"),
        ("apply", "failed"),  # an answer that says why nothing was declared
        ("POST /login", "denied"),
        ("clusters/orders/pause", "done"),
        ("clusters/orders/resume", "denied"),
        ("clusters/orders/resume", "done"),
        ("clusters/orders/delete", "denied"),
    ]

    everything = b"".join(part for number in range(PARTITIONS) for record in house.written(number) for part in record)
    secret = {"the canary": CANARY, "a token": viewer}
    assert [what for what, word in secret.items() if word.encode() in everything] == []
    assert b"clusters/orders" in everything, "what is looked through would show it"
    assert all(fault.times == 0 for fault in hetzner.faults), "the cloud was never told what it repeats"
