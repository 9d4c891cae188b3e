"""An agent with a certificate of its own at the door of a portal, and who has none."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from cryptography import x509

from agent.backoff import Backoff
from agent.certification import Certification, signing_request
from agent.client import ServerClient
from agent.credential import CredentialFiles
from agent.identity import enrol_request, identity_of
from agent.inbox import Inbox, ReportOutbox
from agent.rotation import Rotation
from agent.talk import DocumentTalk, ReportTalk
from agent.trust import PinnedCa
from agent.wire import BootData, CertificateRequest
from controlplane.storage.certificates.authority import Authority
from events import facts
from tests.unit.controlplane.api.agents_door import Door, report
from tests.unit.controlplane.api.portal_house import START

RENEWAL = timedelta(days=2)
LIFE = timedelta(days=7)


class Agent:
    """All of an agent that talks, as `python -m agent` makes it. A new one on the same directory: after a start."""

    def __init__(self, door: Door, state: Path, *, boot: BootData | None = None, is_settled: bool = True) -> None:
        state.mkdir(exist_ok=True)
        self.boot, self.vm, self.state = boot or door.boot, door.vm, state
        self.inbox, self.outbox = Inbox(), ReportOutbox()
        self.credential = CredentialFiles(state)
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
