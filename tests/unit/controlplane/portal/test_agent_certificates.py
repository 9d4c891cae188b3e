"""Certificates of agents over real TLS: how a VM comes by one, what is refused, and that no VM is ever locked out."""

import hashlib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from agent.backoff import Backoff
from agent.certification import Certification, signing_request
from agent.client import CertificateLost, CredentialLost, NewDocument, Refused, Retired, RetryLater, ServerClient
from agent.credential import Credential
from agent.identity import INSTANCE_HEADER, enrol_request, identity_of
from agent.inbox import Inbox, Outbox
from agent.rotation import Rotation
from agent.talk import DocumentTalk, ReportTalk
from agent.trust import PinnedCa
from agent.wire import BootData, CertificateRequest
from controlplane.agentcertificates import AgentCertificate, identity_uri, read_certificate
from controlplane.agenttls import AgentTls
from controlplane.authority import Authority, RequestRefused, load_or_make
from controlplane.credentials import MemoryCredentialStore, Vm
from controlplane.latest import Observation
from controlplane.portal.access.bindings import Binding
from controlplane.portal.access.roles import Role
from controlplane.portal.peers import certificate_of
from controlplane.showncertificates import AGENT_CERTIFICATE
from events import facts
from events.ids import NodeName
from tests.unit.controlplane.portal.agents_door import HOST, Door, report, served
from tests.unit.controlplane.portal.portal_house import START, broker

RENEWAL = timedelta(days=2)
LIFE = timedelta(days=7)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return load_or_make(tmp_path / "home", "inst", now=datetime.now(UTC))


@pytest.fixture
def door(tmp_path: Path, authority: Authority) -> Iterator[Door]:
    with served(tmp_path, authority) as made:
        yield made


class Agent:
    """All of an agent that talks, as `python -m agent` makes it. A new one on the same directory: after a start."""

    def __init__(self, door: Door, state: Path, *, boot: BootData | None = None, is_settled: bool = True) -> None:
        state.mkdir(exist_ok=True)
        self.boot, self.vm, self.state = boot or door.boot, door.vm, state
        self.inbox, self.outbox = Inbox(), Outbox()
        self.credential = Credential(state)
        trust = PinnedCa(self.boot.server_url, self.boot.ca_sha256, kept=state / "ca.pem")
        identity = identity_of(self.boot, self.credential.load_or_make())
        self.client = ServerClient(self.boot.server_url, identity, trust=trust)
        self.is_settled = is_settled
        self.certification = Certification(
            self.boot,
            client=self.client,
            trust=trust,
            state=state,
            is_settled=lambda: self.is_settled,
            make=signing_request,  # in a process of its own it takes longer
        )
        backoff = partial(Backoff, 1.0, 8.0, jitter=lambda: 1.0)
        self.documents = DocumentTalk(
            client=self.client,
            credential=self.credential,
            enrolment=partial(enrol_request, self.boot),
            inbox=self.inbox,
            backoff=backoff(),
            etag="",
            wait_s=0,
            certification=self.certification,
        )
        self.reports = ReportTalk(
            client=self.client,
            credential=self.credential,
            rotation=Rotation(self.boot, client=self.client, credential=self.credential),
            outbox=self.outbox,
            inbox=self.inbox,
            backoff=backoff(),
            certification=self.certification,
        )
        self._seq = 0

    @property
    def certificate(self) -> x509.Certificate:
        """The one on the VM's disk."""
        return x509.load_pem_x509_certificate((self.state / "certificate.pem").read_bytes())

    def hears(self) -> bool:
        """One exchange about the document: whether one came."""
        self.inbox.take()
        self.documents.step()
        self.documents._etag = ""
        return self.inbox.take().document is not None

    def report(self) -> None:
        self._seq += 1
        self.outbox.put(report(self.vm, self._seq))
        self.reports.step()

    @property
    def problem(self) -> str:
        return self.inbox.take().problem


@contextmanager
def agent_of(door: Door, state: Path, **how: Any) -> Iterator[Agent]:
    agent = Agent(door, state, **how)
    try:
        yield agent
    finally:
        agent.client.close()


@contextmanager
def stranger(door: Door, agent: Agent, *, certificate: Path | None = None) -> Iterator[ServerClient]:
    """Somebody with a copy of the agent's secret, and that certificate or none."""
    trust = PinnedCa(agent.boot.server_url, agent.boot.ca_sha256, kept=agent.state / "ca.pem")
    if certificate is not None:
        trust.show(certificate)
    client = ServerClient(agent.boot.server_url, identity_of(agent.boot, agent.client.shown), trust=trust)
    try:
        yield client
    finally:
        client.close()


def pair(folder: Path, authority: Authority, uri: str, *, now: datetime = START, name: str = "pair.pem") -> Path:
    """A key with a certificate of that name, as a file."""
    begun = signing_request()
    file = folder / name
    file.write_text(begun.key_pem + authority.certify(begun.csr_pem, uri, now=now))
    return file


def asked(agent: Agent) -> CertificateRequest:
    vm = agent.vm
    csr = signing_request().csr_pem
    return CertificateRequest(cluster_uid=vm.cluster_uid, node=vm.node, generation=vm.generation, csr=csr)


def retire(door: Door) -> None:
    house = door.house
    house.record(facts.InstanceJoined("brokers-a-0.g1", 1000))
    house.record(facts.FenceRequested(("brokers-a-0.g1",), "t"), facts.NodeFenced("brokers-a-0.g1", "agent"))
    house.record(facts.RetireRequested("r", ("brokers-a-0.g1",), (), "t"), facts.RetireCompleted("r"))


def certified_at(door: Door) -> datetime | None:
    known = door.house.credentials.get(door.vm)
    assert known is not None
    return known.certified_at


# --- how it comes by one ----------------------------------------------------------------------------------------


def test_an_agent_enrols_with_a_key_of_its_own_and_shows_its_certificate_from_then_on(
    tmp_path: Path, door: Door
) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        made = agent.certificate
        names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        vm = door.vm
        assert list(names) == [x509.UniformResourceIdentifier(f"kedge:{vm.cluster_uid}/{vm.node}.g{vm.generation}")]
        use = made.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        assert list(use) == [ExtendedKeyUsageOID.CLIENT_AUTH]
        assert made.not_valid_after_utc - START == LIFE
        assert (agent.state / "certificate.pem").stat().st_mode & 0o777 == 0o600
        assert certified_at(door) == START
        agent.report()
        assert agent.problem == ""
    with agent_of(door, tmp_path / "vm") as again:
        assert again.hears()
        assert again.certificate == made, "an agent that starts again asks for none"


def test_the_servers_records_and_answers_hold_no_key(tmp_path: Path, door: Door) -> None:
    begun = signing_request()
    assert "PRIVATE" not in begun.csr_pem
    assert "PRIVATE" not in repr(begun)
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        assert "PRIVATE" not in agent.client.certify(asked(agent)).certificate


def test_it_is_renewed_after_two_of_its_seven_days_by_the_servers_clock_with_a_fresh_key(
    tmp_path: Path, door: Door
) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        first = agent.certificate
        door.house.pass_time(seconds=RENEWAL.total_seconds() - 1)
        agent.report()
        assert agent.certificate == first
        door.house.pass_time(seconds=1)
        agent.report()
        second = agent.certificate
        assert second.public_key() != first.public_key()
        assert second.not_valid_after_utc - first.not_valid_after_utc == RENEWAL
        assert agent.hears()
        agent.report()
        assert agent.certificate == second


def test_when_it_ends_is_told_to_people_before_it_does(tmp_path: Path, door: Door) -> None:
    house = door.house
    ada = house.browser("ada", Binding("", Role.VIEWER, "*"))
    writes: list[Observation] = []
    put = house.latest.put

    def noted(observation: Observation) -> bool:
        if observation.subject.kind == AGENT_CERTIFICATE:
            writes.append(observation)
        return put(observation)

    house.latest.put = noted  # type: ignore[method-assign]

    def told() -> dict[str, Any]:
        (instance,) = house.client.get("/v1/clusters/orders").json()["instances"]
        return dict(instance)

    assert told()["certificate_ends_at"] is None
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        agent.report()
        agent.report()
        ends = agent.certificate.not_valid_after_utc
    assert datetime.fromisoformat(told()["certificate_ends_at"]) == ends
    assert len(writes) == 1, "a row is written for another certificate, not for each report"
    assert f"{ends:%Y-%m-%d}" in ada.get("/agents").text
    assert "not renewed" not in ada.get("/agents").text
    house.pass_time(days=4, seconds=1)
    ada = house.browser("bea", Binding("", Role.VIEWER, "*"))
    assert "not renewed" in ada.get("/agents").text
    house.pass_time(days=3)
    ada = house.browser("cleo", Binding("", Role.VIEWER, "*"))
    assert '<span class="word bad">over</span>' in ada.get("/agents").text


def test_certificate_and_credential_are_renewed_in_one_step_where_both_are_due(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        first, secret = agent.certificate, agent.client.shown
        door.house.pass_time(days=6.9)
        object.__setattr__(door.house.services, "credential_life", timedelta(days=6))
        agent.report()
        assert agent.certificate != first
        assert agent.client.shown != secret
        assert agent.hears()


def test_a_call_under_way_ends_on_the_connection_it_began_on(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        with agent.client._connections.call() as pool:
            agent.certification.run()
            assert not pool.http.is_closed
            assert not agent.client._connections.is_current(pool)
        assert pool.http.is_closed
        assert agent.hears()


def test_an_answer_that_was_lost_leaves_what_was_there(tmp_path: Path, door: Door) -> None:
    """At the enrolment, and at a renewal: what the server signed and nobody has counts for nothing."""
    with agent_of(door, tmp_path / "vm") as agent:
        agent.client.enrol(enrol_request(agent.boot, agent.client.shown).model_copy(update={"csr": asked(agent).csr}))
        assert agent.hears(), "it enrols again, with another key"
        agent.client.certify(asked(agent))
        assert agent.hears()


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
                lambda: Rotation(agent.boot, client=thief, credential=Credential(tmp_path)).run(),
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
            with pytest.raises(Refused, match="csr-refused"):
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


# --- nobody is locked out ---------------------------------------------------------------------------------------


def test_a_vm_that_was_off_for_a_month_comes_back_by_itself(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        over = agent.certificate
    door.house.pass_time(days=30)
    with agent_of(door, tmp_path / "vm") as agent:
        assert not agent.hears(), "it is told that its certificate is over"
        assert agent.hears()
        assert agent.certificate.not_valid_after_utc > over.not_valid_after_utc
        agent.report()
        assert agent.problem == ""


@pytest.mark.parametrize("days", [-30, 30, 400], ids=["back", "forward", "forward-by-more-than-a-year"])
def test_a_servers_clock_that_is_set_wrong_and_right_again_loses_no_agent(
    tmp_path: Path, door: Door, days: int
) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        for moved in (days, -days):
            door.house.pass_time(days=moved)
            agent.report()
            agent.hears()
            assert agent.hears()
            agent.report()
            assert agent.hears()
        assert agent.certificate.not_valid_after_utc == door.house.now + LIFE, "by the right clock, in the end"


def test_a_server_restored_from_before_the_first_certificate_hears_it_all_the_same(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        known = door.house.credentials
        assert isinstance(known, MemoryCredentialStore)
        known._credentials[door.vm] = replace(known._credentials[door.vm], certified_at=None)
        door.house.pass_time(hours=1)
        assert agent.hears()
        assert certified_at(door) == door.house.now


def test_a_server_that_lost_its_database_enrols_it_once_more_with_a_certificate(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        before = agent.certificate
        known = door.house.credentials
        assert isinstance(known, MemoryCredentialStore)
        known._credentials.clear()
        assert not agent.hears()
        assert agent.hears()
        assert agent.certificate != before
        assert certified_at(door) is not None


def test_a_damaged_certificate_before_its_first_use_is_asked_for_again(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        agent.documents._enrol()
    (tmp_path / "vm" / "certificate.pem").write_text("half of a")
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears(), "nothing was shown yet: the credential counts alone"
        agent.report()
        assert agent.certificate
        assert agent.hears()
        assert certified_at(door) is not None


def test_an_agent_whose_key_is_lost_says_so_asks_rarely_and_goes_on_with_what_runs(tmp_path: Path, door: Door) -> None:
    """Its credential alone opens nothing any more: the node is replaced, as for a lost credential."""
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
    (tmp_path / "vm" / "certificate.pem").unlink()
    with agent_of(door, tmp_path / "vm") as agent:
        pauses = [agent.documents.step() for _ in range(3)]
        assert pauses[1:] == [15.0, 15.0]
        assert not agent.documents.is_over
        assert "replace the node" in agent.problem


def test_a_disk_that_takes_no_certificate_leaves_the_one_before(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        before = agent.certificate
        (agent.state / "certificate.pem.next").mkdir()
        with pytest.raises(RetryLater, match="cannot be kept"):
            agent.certification.run()
        assert agent.certificate == before
        assert agent.hears()


def test_a_certificate_of_another_key_is_not_kept(tmp_path: Path, door: Door, authority: Authority) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        before = agent.certificate
        others = authority.certify(signing_request().csr_pem, "kedge:c/n.g1", now=START)
        with pytest.raises(Refused, match="cannot be used"):
            agent.certification.take(signing_request(), others)
        assert agent.certificate == before
        assert agent.hears()


# --- from before there were certificates ------------------------------------------------------------------------


class Earlier(Agent):
    """An agent of a release before: it knows of no certificates."""

    def __init__(self, door: Door, state: Path) -> None:
        super().__init__(door, state)
        self.documents._certification = self.reports._certification = None


def is_told_as_uncertified(door: Door) -> bool:
    """In the API, and on the page of agents."""
    client = door.house.client
    (told,) = client.get("/v1/clusters/orders").json()["instances"]
    page = client.get("/agents", headers={"Accept": "text/html"}).text
    assert told["uncertified"] is ("it has shown no certificate" in page)
    return bool(told["uncertified"])


def test_an_agent_of_a_release_before_is_heard_until_its_vm_has_shown_a_certificate(tmp_path: Path, door: Door) -> None:
    earlier = Earlier(door, tmp_path / "vm")
    assert earlier.hears()
    earlier.report()
    earlier.report()
    assert earlier.problem == ""
    assert certified_at(door) is None
    assert is_told_as_uncertified(door)
    earlier.client.close()
    with agent_of(door, tmp_path / "vm") as upgraded:
        assert upgraded.hears()
        assert certified_at(door) is None
        upgraded.report()
        assert upgraded.hears()
        assert certified_at(door) == door.house.now
        assert not is_told_as_uncertified(door)
    again = Earlier(door, tmp_path / "vm2")
    again.client.show(upgraded.client.shown)
    with pytest.raises(CertificateLost):
        again.client.document(etag="", wait_s=0)
    again.client.close()


def test_an_agent_on_trial_asks_for_no_first_certificate_and_may_give_way_to_the_one_before(
    tmp_path: Path, door: Door
) -> None:
    earlier = Earlier(door, tmp_path / "vm")
    assert earlier.hears()
    with agent_of(door, tmp_path / "vm", is_settled=False) as on_trial:
        assert on_trial.hears()
        on_trial.report()
        assert not (on_trial.state / "certificate.pem").exists()
        assert earlier.hears(), "it was taken back"
        on_trial.is_settled = True
        on_trial.report()
        assert on_trial.hears()
        on_trial.is_settled = False
        door.house.pass_time(days=3)
        before = on_trial.certificate
        on_trial.report()
        assert on_trial.certificate != before, "one that has a certificate renews it at any time"
    earlier.client.close()


def test_over_plain_http_no_certificate_is_asked_for_and_none_is_made_by_it(tmp_path: Path, door: Door) -> None:
    house, vm = door.house, door.vm
    with agent_of(door, tmp_path / "vm") as agent:
        earlier = Earlier(door, tmp_path / "vm")
        assert earlier.hears()
        plain = house.agent(vm, agent.client.shown)
        said = plain.post("/agent/v1/report", json=report(vm, 1).model_dump(mode="json")).json()
        assert (said["accepted"], said["certify"]) == (True, False)
        assert agent.hears()
        agent.report()
        assert agent.hears()
        refused = plain.post("/agent/v1/report", json=report(vm, 2).model_dump(mode="json"))
        assert (refused.status_code, refused.json()["code"]) == (401, "certificate-needed"), "nor by another door"
        earlier.client.close()


def test_a_server_without_a_ca_signs_nothing(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        object.__setattr__(door.house.services, "authority", None)
        with pytest.raises(RetryLater, match="no-ca"):
            agent.client.certify(asked(agent))


def test_the_door_tells_each_request_what_its_connection_has_shown(tmp_path: Path, door: Door) -> None:
    seen: list[AgentCertificate | None] = []
    served_by = door.heard.app

    async def looking(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            seen.append(certificate_of(scope))
        await served_by(scope, receive, send)

    door.heard.app = looking
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        assert agent.hears()
    instance = f"{door.vm.cluster_uid}/{door.vm.node}.g{door.vm.generation}"
    assert seen == [None, None, *[AgentCertificate(instance, START, START + LIFE)] * 2]
    believing = ssl.create_default_context(cadata=(tmp_path / "vm" / "ca.pem").read_text())
    lie = {INSTANCE_HEADER: instance, "X-Client-Cert": "x", "X-SSL-Client-S-DN": instance}
    assert httpx.get(f"{door.url}/agent/v1/document", headers=lie, verify=believing).status_code != 200
    assert seen[-1] is None


def test_a_certificate_is_old_by_an_age_nobody_knows() -> None:
    made = AgentCertificate("c/n.g1", START, START + LIFE)
    assert not made.is_old(START)
    assert not made.is_old(START - timedelta(minutes=4))
    assert made.is_old(START - timedelta(minutes=6))
    assert made.is_old(START + RENEWAL)
    assert not made.is_over(START - timedelta(days=99)), "a clock set back refuses nobody"
    assert made.is_over(START + LIFE)


def test_the_agent_of_the_generation_before_speaks_for_itself_only(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as old:
        assert old.hears()
        door.house.launch(broker(number=1001, generation=2, replaces=1), intent="intent-2")
        successor = old.boot.model_copy(update={"generation": 2})
        with stranger(door, old, certificate=old.state / "certificate.pem") as thief:
            with pytest.raises(CredentialLost):
                thief.enrol(enrol_request(successor, "d" * 64))
            assert isinstance(thief.document(etag="", wait_s=0), NewDocument), "for itself"
