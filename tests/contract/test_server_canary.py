"""A cloud's credentials in a whole `kedge serve`, the key of a CA of the user's own, and a Vault's token: nobody finds
them anywhere afterwards.

They are in the server's environment and in that of its Terraform processes, in the calls to the cloud, and in files of
the user's. They are in no event, log line, page, answer of the API or list of processes, and in no file of the home.
"""

import secrets
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from controlplane.storage.home import Home
from events.clock import utc_now
from providers import process
from tests.contract.server_process import eventually
from tests.contract.test_api_server import Server
from tests.fakes.clouds.faults import Fault
from tests.fakes.clouds.hetzner import FakeHetzner, fake_hetzner
from tests.fakes.clouds.hetzner_hands import write_settings
from tests.own_ca import Pki
from tests.terraform.hetznerlife import hcloud_plugins
from tests.unit.controlplane.portal.page_routes import PAGE_ROUTES

pytestmark = [pytest.mark.soak, pytest.mark.timeout(400)]

CANARY = "canary" + secrets.token_hex(29)
"""A token of Hetzner has 64 signs, and Terraform's provider takes no other."""

VAULT_TOKEN = "hvs.canary" + secrets.token_hex(20)
OWN_CA = Pki.root(since=utc_now() - timedelta(days=1)).below()
KEY_LINE = OWN_CA.key_text().splitlines()[1]
"""Of its private key, as a PEM file has it."""
USER = """---
apiVersion: kedge/v1alpha1
kind: KafkaUser
metadata: {name: alice, owner: team}
spec:
  cluster: orders
  authentication: {type: scram-sha-512, deliverTo: apps}
"""

SPEC = """
apiVersion: kedge/v1alpha1
kind: KafkaCluster
metadata:
  name: orders
  owner: team
spec:
  kafka:
    version: 4.2.0
  pools:
{pools}"""

LISTENERS = """  listeners:
    - {name: SCRAM, port: 9094, security: tls, authentication: {type: scram-sha-512}}
"""

POOL = """    - name: {name}
      services: [{service}]
      size: 1
      machine: small
      disk:
        kind: persistent
        sizeGib: 20
      place:
        cloud: hetzner
        account: production
        region: eu-central
        zones: [fsn1]
"""


@pytest.fixture
def hetzner() -> Iterator[FakeHetzner]:
    with fake_hetzner(CANARY) as fake:
        yield fake


@pytest.fixture
def home(tmp_path: Path, hetzner: FakeHetzner) -> Home:
    (tmp_path / "home").mkdir()
    made = Home(tmp_path / "home")
    write_settings(made.path / "hetzner.yaml", hetzner)
    (tmp_path / "vault-token").write_text(VAULT_TOKEN)
    (tmp_path / "vault-token").chmod(0o600)
    OWN_CA.put(tmp_path / "ca")
    (made.path / "kedge.toml").write_text(
        f'''agent_host = "127.0.0.1"
agent_port = 0

[kafka.own_cas]
corporate = "{tmp_path}/ca"

[kafka.password_sinks.apps]
vault = "http://127.0.0.1:1"
token_file = "{tmp_path}/vault-token"
'''
    )
    return made


class Watched:
    """The command lines of every process there was, for as long as the block lasts."""

    def __init__(self) -> None:
        self.seen: set[bytes] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> "Watched":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.05):
            for one in Path("/proc").glob("[0-9]*"):
                try:
                    self.seen.add((one / "cmdline").read_bytes())
                except OSError:
                    continue  # it has ended


def test_a_clouds_credentials_are_in_nothing_that_a_server_tells_or_keeps(home: Home, hetzner: FakeHetzner) -> None:
    """Of a server that lists its VMs, is refused in between, and makes none: nothing runs Terraform here."""
    hetzner.faults.append(Fault("GET /servers", "unauthorized", 401, skip=1, message="unable to authenticate"))
    hetzner.faults.append(Fault("GET /volumes", "server_error", 500, skip=1))
    with watched_server(home) as (server, processes):
        tls = "  rollout:\n    pause: true\n  security: {internal: tls, clusterCa: {own: corporate}}\n"
        applied = server.post("/v1/apply", {"text": f"{spec()}{tls}{LISTENERS}{USER}"}).json()
        assert applied["ok"], applied
        eventually(lambda: all(f.times == 0 for f in hetzner.faults), server)
        told = told_by(server)
    is_nowhere(home, server, told, processes)


@pytest.mark.terraform
def test_nor_in_anything_of_its_runs_of_terraform_while_they_last_and_afterwards(
    home: Home, hetzner: FakeHetzner
) -> None:
    """The vendor's provider: a run that the cloud ends with words of its own, the credentials among them, and the next
    one, which makes the VMs. Its words are told in the log and in the events, with `***` in that place."""
    with (home.path / "hetzner.yaml").open("a") as settings:
        settings.write(f"plugins: {hcloud_plugins()}\n")
    hetzner.faults.append(Fault("POST /servers", "server_error", 500, message=f"it broke for {CANARY} of yours"))
    holding, looked_through, answer = set[str](), set[str](), hetzner.answer

    def looking(method: str, path: str, token: str, body: bytes) -> Any:
        if method == "POST":  # no call of the server itself: Terraform applies its plan
            holding.update(files_with(home.path, CANARY))
            looked_through.update(files_with(home.path, "brokers-fsn1-0.g1"))
        return answer(method, path, token, body)

    hetzner.answering = looking
    with watched_server(home) as (server, processes):
        applied = server.post("/v1/apply", {"text": spec()}).json()
        assert applied["ok"], applied
        for event in ("run.failed", "surge.completed"):
            there = partial(is_told, server, event)
            assert process.wait_until(there, timeout_s=150, poll_s=0.2), (event, server.log)
        told = told_by(server)
    assert "it broke for *** of yours" in told["/v1/events"]
    assert "it broke for *** of yours" in server.log
    assert len(hetzner.project.servers) == 2
    assert holding == set()
    assert {"run.tfplan", "kedge.auto.tfvars.json"} <= looked_through
    assert any(b"terraform\0apply" in line for line in processes.seen)
    assert "terraform.tfstate" in files_with(home.path, "brokers-fsn1-0.g1")
    is_nowhere(home, server, told, processes)


@contextmanager
def watched_server(home: Home) -> Iterator[tuple[Server, Watched]]:
    server = Server(home, HCLOUD_TOKEN=CANARY, HOME=str(home.path.parent), KEDGE_LOG_FORMAT="text")
    with Watched() as processes:
        try:
            yield server.wait_until_it_listens(), processes
        finally:
            server.end()


def is_nowhere(home: Home, server: Server, told: dict[str, str], processes: Watched) -> None:
    def holding(word: str) -> set[str]:
        found = {path for path, text in told.items() if word in text} | files_with(home.path, word)
        found |= {"a command line" for line in processes.seen if word.encode() in line}
        return found | ({"the log"} if word in server.log else set())

    for word in (CANARY, VAULT_TOKEN, KEY_LINE):
        assert holding(word) == set()
    # What is looked through would show it: the cluster's name is in each kind, and the home in a command line.
    assert {"/v1/events", "/v1/clusters/orders", "/clusters/orders", "/events"} <= holding("orders")
    assert {"kedge.db", "kedge.db-wal"} & holding("orders"), "the events; in its log of writes where it was killed"
    assert any(b"python" in line for line in processes.seen), "command lines; the server itself was forked"
    assert "the log" in holding("orders")


def files_with(folder: Path, word: str) -> set[str]:
    """Names of the files below it that have the word, a saved plan's parts among them."""
    found = set()
    for path in folder.rglob("*"):
        try:
            if not path.is_symlink() and path.is_file() and word.encode() in _content(path):
                found.add(path.name)
        except FileNotFoundError:
            continue  # it has gone meanwhile
    return found


def _content(path: Path) -> bytes:
    if not zipfile.is_zipfile(path):
        return path.read_bytes()
    with zipfile.ZipFile(path) as packed:
        return b"".join(packed.read(name) for name in packed.namelist())


def is_told(server: Server, event: str) -> bool:
    return event in server.get("/v1/events").text


def spec() -> str:
    return SPEC.format(pools="".join(POOL.format(name=f"{s}s", service=s) for s in ("controller", "broker")))


def told_by(server: Server) -> dict[str, str]:
    """What each page and route answers that asks for nothing but the name of a cluster; streams never end."""
    described = server.get("/openapi.json").json()["paths"]
    paths = {path for path, verbs in described.items() if "get" in verbs}
    paths |= {path for method, path in PAGE_ROUTES if method == "GET"}
    filled = {path.replace("{name}", "orders") for path in paths}
    asked = sorted(path for path in filled if "{" not in path and not path.endswith(("/live", "/stream")))
    answers = {path: server.get(path) for path in asked}
    assert sum(answer.status_code == 200 for answer in answers.values()) > 30, answers
    return {path: answer.text for path, answer in answers.items()}
