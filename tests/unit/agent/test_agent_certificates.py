"""What an agent does about its certificate without a server: which agents it gives way to, and its connections."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509 import load_pem_x509_csr

from agent.certification import Certification, NoSigningRequest, SigningRequest, made_aside, signing_request
from agent.client import CertificateLost, RetryLater, ServerClient
from agent.connections import Connections
from agent.identity import identity_of
from agent.layout import AgentLayout
from agent.main import _certification
from agent.node_certificate import NodeCertificates
from agent.trust import PinnedCa
from agent.upgrades.choice import AgentChoice, InstalledBundle, UpgradeOutcome, UpgradeTrial, keep_choice
from agent.upgrades.follower import Follower
from agent.wire import AgentBuild
from tests.agent.upgraded import Signer
from tests.unit.agent.test_agent_upgrade_archive import named
from tests.unit.agent.wanted import boot_data

EARLIER = (("agent/__init__.py", b'__version__ = "0.9.0"\n'),)
LIKE_US = (("agent/__init__.py", b'__version__ = "1.1.0"\n'), ("agent/certification.py", b""))


class Still:
    def monotonic_s(self) -> float:
        return 0.0


def followed(
    folder: Path, *members: tuple[str, bytes], version: str, is_certified: bool, speaks_tls: bool = False
) -> Follower:
    """An agent of 1.0.0 that was ordered to become what is in that archive, and has done all it does about it."""
    folder.mkdir(exist_ok=True)
    archive = folder / "agent.tar.gz"
    archive.write_bytes(named(*members))

    def fetched(_: AgentBuild, beside: Path) -> None:
        shutil.copy(archive, beside)

    follower = Follower(folder / "bundles", "1.0.0", Still(), fetched=fetched, is_certified=lambda: is_certified)
    follower.speaks_tls = lambda: speaks_tls
    follower.follow(Signer().order(archive, version, "http://mirror.example/agent.tar.gz"))
    assert follower._working is not None
    follower._working.join(20)
    return follower


def test_a_vm_with_a_certificate_gives_way_to_no_agent_that_knows_of_none(tmp_path: Path) -> None:
    """A withdrawal may order the release before: it would be deaf and mute, on the whole fleet."""
    follower = followed(tmp_path, *EARLIER, version="0.9.0", is_certified=True)
    assert not follower.is_ready
    assert follower.report.state == "failed"
    assert "agent 0.9.0 knows of no certificates" in follower.report.problem


@pytest.mark.parametrize(("members", "version", "is_certified"), [(EARLIER, "0.9.0", False), (LIKE_US, "1.1.0", True)])
def test_it_gives_way_to_any_other(
    tmp_path: Path, members: tuple[tuple[str, bytes], ...], version: str, is_certified: bool
) -> None:
    follower = followed(tmp_path, *members, version=version, is_certified=is_certified)
    assert follower.is_ready
    assert follower.report.state == "trying"


def test_a_vm_whose_kafka_speaks_tls_gives_way_to_no_agent_that_would_start_it_in_plaintext(tmp_path: Path) -> None:
    older = followed(tmp_path / "older", *LIKE_US, version="1.1.0", is_certified=True, speaks_tls=True)
    assert not older.is_ready
    assert "agent 1.1.0 knows of no TLS between nodes" in older.report.problem
    knows = (*LIKE_US, ("agent/node_certificate.py", b""))
    assert followed(tmp_path / "like", *knows, version="1.1.0", is_certified=True, speaks_tls=True).is_ready
    assert Path(NodeCertificates.ready.__code__.co_filename).parts[-2:] == ("agent", "node_certificate.py")


def test_the_file_by_which_an_agent_is_told_to_know_certificates_is_there() -> None:
    """An upgraded agent looks for it in the next one's archive: renamed, no VM with a certificate would take that."""
    assert Path(signing_request.__code__.co_filename).parts[-2:] == ("agent", "certification.py")


def test_a_key_and_its_request_are_made_by_a_process_that_ends() -> None:
    """An agent that kept what makes them would take 12 MiB more, for good."""
    made = made_aside()
    request, key = load_pem_x509_csr(made.csr_pem.encode()), load_pem_private_key(made.key_pem.encode(), None)
    assert request.is_signature_valid
    assert request.public_key() == key.public_key()
    assert made.key_pem not in repr(made)
    source = (
        "import sys; from agent.certification import made_aside; made_aside(); print('cryptography' in sys.modules)"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    told = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, env=environ)
    assert told.stdout.strip() == "False"


def test_a_vm_on_which_no_key_can_be_made_says_so_and_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def fails() -> SigningRequest:
        raise NoSigningRequest("No module named 'cryptography'")

    boot = boot_data().model_copy(update={"server_url": "https://127.0.43.1:1"})
    trust = PinnedCa(boot.server_url, "ab" * 32, kept=tmp_path / "ca.pem")
    client = ServerClient(boot.server_url, identity_of(boot, "s"), trust=trust)
    assert Certification(boot, client=client, trust=trust, state=tmp_path, make=fails).begin() is None
    assert "no key was made: No module named 'cryptography'" in caplog.text
    client.close()


def test_an_agent_is_settled_once_it_is_on_no_trial_of_its_own(tmp_path: Path) -> None:
    assert Follower(tmp_path / "fresh", "1.0.0", Still()).is_settled
    bundles = tmp_path / "bundles"
    keep_choice(
        bundles,
        AgentChoice(None, UpgradeTrial(InstalledBundle("ab" * 32, "1.0.0"), "order", 120.0, 1, 0.0), UpgradeOutcome()),
    )
    on_trial = Follower(bundles, "1.0.0", Still(), turned_off=lambda: None)
    assert not on_trial.is_settled
    assert Follower(bundles, "0.9.0", Still()).is_settled, "the trial it has prepared is of another one"
    on_trial.heard()
    assert not on_trial.is_settled
    on_trial.report_taken()
    assert on_trial.is_settled


def test_an_agents_process_asks_for_its_first_certificate_once_it_is_settled_and_tells_its_follower(
    tmp_path: Path,
) -> None:
    layout, boot = AgentLayout(tmp_path), boot_data().model_copy(update={"server_url": "https://127.0.43.1:1"})
    layout.prepare()
    keep_choice(
        layout.bundles,
        AgentChoice(None, UpgradeTrial(InstalledBundle("ab" * 32, "1.0.0"), "order", 120.0, 1, 0.0), UpgradeOutcome()),
    )
    follower = Follower(layout.bundles, "1.0.0", Still(), turned_off=lambda: None)
    trust = PinnedCa(boot.server_url, "ab" * 32, kept=layout.state / "ca.pem")
    client = ServerClient(boot.server_url, identity_of(boot, "s"), trust=trust)
    made = _certification(boot, layout, client=client, trust=trust, follower=follower)
    assert made is not None
    assert made.begin() is None
    follower.heard()
    follower.report_taken()
    assert made.begin() is not None
    assert not follower.is_certified()
    made.is_there = True
    assert follower.is_certified()
    assert _certification(boot, layout, client=client, trust=None, follower=follower) is None, "on loopback"
    client.close()


def test_a_refusal_of_what_was_sent_before_the_first_certificate_is_no_loss_of_it() -> None:
    """The other thread has shown it meanwhile: from then on the server refuses what came without."""
    meanwhile: list[Callable[[], None]] = []

    def answer(_: httpx.Request) -> httpx.Response:
        for happens in meanwhile:
            happens()
        return httpx.Response(401, json={"code": "certificate-needed"})

    client = ServerClient("http://127.0.0.1:1", identity_of(boot_data(), "s"), transport=httpx.MockTransport(answer))
    meanwhile.append(client.reconnect)
    with pytest.raises(RetryLater, match="renewed while this was on its way"):
        client.document(etag="", wait_s=0)
    meanwhile.clear()
    with pytest.raises(CertificateLost):
        client.document(etag="", wait_s=0)
    client.close()


def test_connections_are_closed_after_the_last_call_on_them() -> None:
    connections = Connections(httpx.Client)
    with connections.call() as first:
        with connections.call() as beside:
            connections.renew()
            assert beside is first
            assert not connections.is_current(first)
        assert not first.http.is_closed
        with connections.call() as second:
            assert connections.is_current(second)
        assert not second.http.is_closed
    ended, idle = first, second
    assert ended.http.is_closed
    connections.renew()
    assert idle.http.is_closed
    connections.close()
