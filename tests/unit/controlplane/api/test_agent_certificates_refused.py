"""Certificates that open nothing: stolen, of another instance, of another CA, over, or asked for in a bad way."""

import hashlib
import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from agent.certification import signing_request
from agent.client import CertificateLost, CredentialLost, NewDocument, Retired, RetryLater, ServerClient, ServerRefused
from agent.credential import CredentialFiles
from agent.identity import enrol_request, identity_of
from agent.rotation import Rotation
from agent.trust import PinnedCa
from controlplane.server.tls_agents import AgentTls
from controlplane.storage.agent_credentials import Vm
from controlplane.storage.certificates.agents import AgentCertificate, identity_uri, read_certificate
from controlplane.storage.certificates.authority import Authority, load_or_make
from controlplane.storage.certificates.building import RequestRefused
from events.ids import NodeName
from tests.unit.controlplane.api.agents_door import HOST, Door, report, served
from tests.unit.controlplane.api.certified_agent import (
    LIFE,
    agent_of,
    asked,
    pair,
    retire,
    stranger,
)
from tests.unit.controlplane.api.portal_house import START

# --- what is refused --------------------------------------------------------------------------------------------


def test_a_stolen_credential_without_the_key_opens_nothing_and_changes_nothing(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        before = door.house.credentials.get(door.vm)
        with stranger(door, agent) as thief:
            for call in (
                lambda: thief.document(etag="", wait_s=0),
                lambda: thief.report(report(door.vm, 99)),
                lambda: thief.certify(asked(agent)),
                lambda: Rotation(agent.boot, client=thief, credential=CredentialFiles(tmp_path)).run(),
            ):
                with pytest.raises(CertificateLost, match="certificate-needed"):
                    call()
            enrolled = thief.enrol(
                enrol_request(agent.boot, thief.shown).model_copy(update={"csr": signing_request().csr_pem})
            )
            assert enrolled.certificate == "", "the token and the credential together make no certificate either"
        assert door.house.credentials.get(door.vm) == before
        assert agent.hears()


def test_a_stolen_next_credential_is_not_put_in_force_without_the_key(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        secret = agent.credential.next()
        digest = hashlib.sha256(secret.encode()).hexdigest()
        door.house.credentials.rotate(
            door.vm, shown_sha256=hashlib.sha256(agent.client.shown.encode()).hexdigest(), next_sha256=digest
        )
        with stranger(door, agent) as thief:
            thief.show(secret)
            with pytest.raises(CertificateLost):
                thief.document(etag="", wait_s=0)
        assert agent.hears(), "the one in force is in force"


@pytest.mark.parametrize(
    "uri",
    [
        "kedge:{cluster}/brokers-b-0.g1",
        "kedge:{cluster}/brokers-a-0.g2",
        "kedge:0123456789abcdef0123456789abcdef/brokers-a-0.g1",
        "urn:{cluster}/brokers-a-0.g1",
    ],
    ids=["another-node", "another-generation", "another-cluster", "no-instance"],
)
def test_the_certificate_of_another_instance_is_refused_with_the_right_credential(
    tmp_path: Path, door: Door, authority: Authority, uri: str
) -> None:
    others = pair(tmp_path, authority, uri.format(cluster=door.vm.cluster_uid))
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        with stranger(door, agent, certificate=others) as thief:
            for call in (
                lambda: thief.document(etag="", wait_s=0),
                lambda: thief.certify(asked(agent)),
                lambda: thief.enrol(enrol_request(agent.boot, thief.shown)),
            ):
                with pytest.raises(CredentialLost, match="another instance"):
                    call()


def test_a_certificate_that_is_over_opens_nothing_but_its_renewal(
    tmp_path: Path, door: Door, authority: Authority
) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        door.house.pass_time(seconds=LIFE.total_seconds() - 1)
        assert isinstance(agent.client.document(etag="", wait_s=0), NewDocument)
        door.house.pass_time(seconds=1)
        for call in (
            lambda: agent.client.document(etag="", wait_s=0),
            lambda: agent.client.report(report(door.vm, 9)),
            lambda: Rotation(agent.boot, client=agent.client, credential=agent.credential).run(),
        ):
            with pytest.raises(CertificateLost, match="certificate-over"):
                call()
        # Of another instance it does not even open that, and without the credential beside it nothing does.
        others = pair(tmp_path, authority, identity_uri(f"{door.vm.cluster_uid}/brokers-b-0.g1"))
        with stranger(door, agent, certificate=others) as thief, pytest.raises(CredentialLost, match="another"):
            thief.certify(asked(agent))
        with stranger(door, agent, certificate=agent.state / "certificate.pem") as thief:
            thief.show("f" * 64)
            with pytest.raises(CredentialLost, match="agent-unknown"):
                thief.certify(asked(agent))


def test_a_certificate_of_another_ca_is_refused_in_the_handshake(tmp_path: Path, door: Door) -> None:
    other = load_or_make(tmp_path / "other", "inst", now=datetime.now(UTC))
    vm = door.vm
    forged = pair(tmp_path, other, identity_uri(f"{vm.cluster_uid}/{vm.node}.g{vm.generation}"))
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        asked_before = len(door.heard.asked)
        with stranger(door, agent, certificate=forged) as thief, pytest.raises(RetryLater):
            thief.document(etag="", wait_s=0)
        assert len(door.heard.asked) == asked_before


def test_the_server_shows_no_agents_certificate_and_no_agent_the_servers(tmp_path: Path, authority: Authority) -> None:
    """One CA signs both: each says what it is for."""
    tls = AgentTls(authority, [HOST])
    servers = authority.issue([HOST], now=datetime.now(UTC))
    shown = tmp_path / "server.pem"
    shown.write_bytes(servers.key_pem + servers.chain_pem)
    with served(tmp_path, authority, shows=tls) as door, agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        asked_before = len(door.heard.asked)
        with stranger(door, agent, certificate=shown) as thief, pytest.raises(RetryLater):
            thief.document(etag="", wait_s=0)
        assert len(door.heard.asked) == asked_before
        agents = pair(tmp_path, authority, f"kedge:{door.vm.cluster_uid}/brokers-b-0.g1", now=datetime.now(UTC))
    imitator = AgentTls(authority, [HOST])
    imitator.context.load_cert_chain(agents)
    with served(tmp_path, authority, shows=imitator) as door, agent_of(door, tmp_path / "fooled") as agent:
        assert not agent.hears()
        assert "certificate is refused: unsuitable certificate purpose" in agent.problem
        assert {path for path, _ in door.heard.asked} == {"/agent/v1/ca"}


def test_the_certificate_of_a_retired_instance_is_worth_nothing_at_once(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        retire(door)
        for call in (
            lambda: agent.client.document(etag="", wait_s=0),
            lambda: agent.client.report(report(door.vm, 9)),
            lambda: agent.client.certify(asked(agent)),
        ):
            with pytest.raises(Retired):
                call()
        begun = enrol_request(agent.boot, agent.client.shown).model_copy(update={"csr": signing_request().csr_pem})
        assert agent.client.enrol(begun).certificate == ""


def test_the_certificate_of_an_instance_that_is_not_known_here_is_not_renewed_and_nothing_is_stopped(
    tmp_path: Path, door: Door, authority: Authority
) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        unknown = Vm(door.vm.cluster_uid, NodeName("brokers-a-0"), 9)
        digest = hashlib.sha256(agent.client.shown.encode()).hexdigest()
        door.house.credentials.enroll(unknown, credential_sha256=digest, intent_id="i")
        boot = agent.boot.model_copy(update={"generation": 9})
        trust = PinnedCa(boot.server_url, boot.ca_sha256, kept=agent.state / "ca.pem")
        trust.show(pair(tmp_path, authority, identity_uri(f"{unknown.cluster_uid}/brokers-a-0.g9")))
        client = ServerClient(boot.server_url, identity_of(boot, agent.client.shown), trust=trust)
        with pytest.raises(RetryLater, match="no-document"):
            client.certify(asked(agent).model_copy(update={"generation": 9}))
        client.close()


def test_an_agent_gets_no_certificate_for_another_instance(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        with pytest.raises(CredentialLost, match="own instance"):
            agent.client.certify(asked(agent).model_copy(update={"generation": 2}))


def _csr_for(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> str:
    made = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM).decode()


def test_a_request_for_a_weak_or_strange_key_is_refused(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        for csr in (
            _csr_for(rsa.generate_private_key(65537, 1024)),
            _csr_for(ec.generate_private_key(ec.SECP384R1())),
            "nonsense",
            "",
            signing_request().csr_pem + "x" * 4096,
        ):
            with pytest.raises(ServerRefused, match="csr-refused"):
                agent.client.certify(asked(agent).model_copy(update={"csr": csr}))


def test_a_request_that_its_key_has_not_signed_is_refused(authority: Authority) -> None:
    der = bytearray(ssl.PEM_cert_to_DER_cert(_as_certificate(signing_request().csr_pem)))
    der[-1] ^= 1
    forged = ssl.DER_cert_to_PEM_cert(bytes(der)).replace("CERTIFICATE", "CERTIFICATE REQUEST")
    with pytest.raises(RequestRefused, match="not signed by the key"):
        authority.certify(forged, "kedge:c/n.g1", now=START)


def _as_certificate(pem: str) -> str:
    return pem.replace("CERTIFICATE REQUEST", "CERTIFICATE").strip()


def test_what_a_request_says_of_itself_is_not_taken(authority: Authority) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    asked = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "root")]))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
        .decode()
    )
    made = x509.load_pem_x509_certificate(authority.certify(asked, "kedge:c/n.g1", now=START).encode())
    assert made.subject.rfc4514_string() == "CN=kedge agent"
    assert not made.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    der = made.public_bytes(serialization.Encoding.DER)
    assert read_certificate(der) == AgentCertificate("c/n.g1", START, START + LIFE)
