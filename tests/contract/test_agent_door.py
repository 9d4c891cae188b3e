"""Real server processes that serve agents over TLS on a loopback address: what is made, told, kept and taken over."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from agent.client import CredentialLost, RetryLater, ServerClient
from agent.identity import enrol_request, identity_of
from agent.trust import PinnedCa
from agent.wire import BootData
from controlplane.storage.certificates.authority import load_or_make
from controlplane.storage.home import Home
from tests.contract.server_process import eventually
from tests.contract.test_api_server import Server
from tests.unit.controlplane.api.agents_door import served
from tests.waiting import until

AGENTS = "127.0.43.7"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    home, started = Home(tmp_path / "home"), list[Server]()

    def start(**settings: str) -> Server:
        started.append(Server(home, **{"KEDGE_AGENT_HOST": AGENTS, "KEDGE_AGENT_PORT": "0", **settings}))
        return started[-1].wait_until_it_listens()

    yield start
    for server in started:
        server.end()


def agent(home: Home, state: Path) -> tuple[ServerClient, BootData]:
    """The client of an agent that was born with what the home says, and a token nobody gave it."""
    boot = BootData(
        server_url=home.agent_url() or "",
        installation_id=home.installation().id,
        cluster_uid="ab" * 16,
        node="brokers-a-0",
        generation=1,
        intent_id="intent",
        token=SecretStr("0" * 64),
        ca_sha256=home.agent_ca() or "",
    )
    state.mkdir(exist_ok=True)
    trust = PinnedCa(boot.server_url, boot.ca_sha256, kept=state / "ca.pem")
    return ServerClient(boot.server_url, identity_of(boot, "secret"), trust=trust), boot


def is_answered(home: Home, state: Path) -> bool:
    """Whether an agent that believes only the CA it was born with gets its refusal: a word of the true server."""
    client, boot = agent(home, state)
    try:
        client.enrol(enrol_request(boot, "secret"))
    except CredentialLost as refused:
        return "enrolment-refused" in str(refused)
    except RetryLater:
        return False
    finally:
        client.close()
    return False


def test_a_server_with_an_address_for_agents_makes_a_ca_tells_its_hash_and_serves_over_tls(
    start: Callable[..., Server], tmp_path: Path
) -> None:
    home = Home(tmp_path / "home")
    server = start()
    assert (home.agent_url() or "").startswith(f"https://{AGENTS}:")
    assert stat.S_IMODE((home.path / "ca-key.pem").stat().st_mode) == 0o600
    assert is_answered(home, tmp_path / "agent")
    assert (tmp_path / "agent" / "ca.pem").read_text() == (home.path / "ca.pem").read_text()
    assert server.url.startswith("http://127.0.0.1:"), "people stay on loopback"
    assert server.get("/v1/version").status_code == 200


def test_a_server_that_starts_again_without_the_setting_keeps_the_promise_made_to_vms(
    start: Callable[..., Server], tmp_path: Path
) -> None:
    home = Home(tmp_path / "home")
    first = start()
    told = (home.agent_url(), home.agent_ca())
    first.signal(signal.SIGTERM)
    first.wait()
    second = start(KEDGE_AGENT_HOST="")
    assert (home.agent_url(), home.agent_ca()) == told
    eventually(lambda: is_answered(home, tmp_path / "agent"), second)


def test_a_server_beside_another_one_takes_the_agents_over_when_that_one_is_dead(
    start: Callable[..., Server], tmp_path: Path
) -> None:
    home = Home(tmp_path / "home")
    first = start()
    eventually(lambda: first.leads, first)
    eventually(lambda: home.server() is not None, first)
    port = str((home.agent_url() or "").rsplit(":", 1)[1])
    second = start(KEDGE_AGENT_PORT=port)
    assert is_answered(home, tmp_path / "agent")
    first.signal(signal.SIGKILL)
    first.wait()
    eventually(lambda: is_answered(home, tmp_path / "agent"), second)
    assert second.leads


def test_a_server_whose_ca_is_lost_says_so_and_does_not_start(start: Callable[..., Server], tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    first = start()
    first.signal(signal.SIGTERM)
    first.wait()
    (home.path / "ca-key.pem").unlink()
    with pytest.raises(AssertionError, match=r"AuthorityRefused: VMs were told https://.*ca-key\.pem of .* is missing"):
        start()


def test_the_agents_own_process_believes_the_server_of_its_boot_data_and_no_other_ca(
    start: Callable[..., Server], tmp_path: Path
) -> None:
    home = Home(tmp_path / "home")
    start()
    _, born = agent(home, tmp_path / "unused")
    with agent_process(tmp_path / "vm", born) as log:
        until(lambda: "enrolment-refused" in log.read_text())
    assert (tmp_path / "vm" / "agent" / "ca.pem").exists()
    with agent_process(tmp_path / "fooled", born.model_copy(update={"ca_sha256": "ab" * 32})) as log:
        until(lambda: "the server is imitated" in log.read_text())
    assert not (tmp_path / "fooled" / "agent" / "ca.pem").exists()


def test_the_agents_own_process_gets_a_certificate_and_is_heard_with_it(tmp_path: Path) -> None:
    authority = load_or_make(tmp_path / "home", "inst", now=datetime.now(UTC))
    with served(tmp_path, authority) as door:

        def is_certified() -> bool:
            known = door.house.credentials.get(door.vm)
            return known is not None and known.certified_at is not None

        with agent_process(tmp_path / "vm", door.boot) as log:
            until(is_certified)
            until(lambda: "/agent/v1/report" in [path for path, _ in door.heard.asked])
        assert stat.S_IMODE((tmp_path / "vm" / "agent" / "certificate.pem").stat().st_mode) == 0o600
        assert "HTTP 4" not in log.read_text()


@contextmanager
def agent_process(root: Path, boot: BootData) -> Iterator[Path]:
    """`python -m agent` on a VM that was born so; its log."""
    (root / "logs").mkdir(parents=True)
    (root / "boot.json").write_text(boot.model_dump_json())
    log = root / "logs" / "agent.log"
    log.touch()
    process = subprocess.Popen(
        [sys.executable, "-m", "agent", "--root", str(root)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.getcwd(), "KEDGE_KAFKA_DIR": str(root)},
    )
    try:
        yield log
    finally:
        process.terminate()
        assert process.wait(20) == 0
