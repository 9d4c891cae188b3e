"""A server that leads and processes that answer agents beside it, on one PostgreSQL: an agent moves between them."""

import os
import shutil
import signal
import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import httpx
import pytest

from agent.client import NewDocument, RetryLater, ServerClient
from agent.identity import enrol_request, identity_of
from agent.trust import PinnedCa
from agent.wire import BootData, Document, PreemptionReport, Report, ReportAnswer, UnchangedReport
from controlplane.cluster.observed.agent_reports import AGENT_REPORT
from controlplane.converger.tick.cluster_tick import new_events
from controlplane.runtime.listen_addresses import listening
from controlplane.server.boot_data import boot_data
from controlplane.storage.home import Home
from controlplane.storage.latest_values import SqlLatestStore, Subject
from controlplane.storage.streams import cluster_stream
from events import facts
from events.engine import build_engine
from events.envelope import Origin
from events.errors import StreamConflict
from events.ids import ClusterUid
from events.sql_store import SqlEventStore
from tests.contract.server_process import ServerProcess, eventually
from tests.contract.test_api_server import DEADLINE_S, PAUSED, Server
from tests.databases import APP, as_role
from tests.unit.controlplane.api.portal_house import broker
from tests.waiting import until

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(600)]

HOST, NODE, KEY, CREDENTIAL = "127.0.43.11", "brokers-a-0", "brokers-a-0.g1", "secret"
KEYS = ("installation-id", "server-key", "ca.pem", "ca-key.pem", "agent-ca", "agent-url")
HELD_S = 25.0
"""How long a question may be held: as long as a real agent lets it."""


@dataclass
class Installation:
    """The server, processes beside it, and what the test itself records in the same database."""

    root: Path
    database: str
    port: int
    started: list[Server]

    def __post_init__(self) -> None:
        self.engine = build_engine(self.database)
        self.store, self.latest = SqlEventStore(self.engine), SqlLatestStore(self.engine)

    def begun(self, home: Home, **settings: str) -> Server:
        agents = {"KEDGE_AGENTS__HOST": HOST, "KEDGE_AGENTS__PORT": str(self.port), "KEDGE_AGENTS__APART": "true"}
        self.started.append(Server(home, KEDGE_DATABASE__URL=self.database, **{**agents, **settings}))
        return self.started[-1].wait_until_it_listens()

    def server(self, **settings: str) -> Server:
        return self.begun(Home(self.root / "home"), **settings)

    def agents(self, name: str) -> Server:
        """A process that answers agents, on a home of its own that has the keys."""
        home = self.root / name
        home.mkdir(exist_ok=True)
        for key in KEYS:
            shutil.copy(self.root / "home" / key, home)
        return self.begun(Home(home), KEDGE_PROCESS__ONLY="agents")

    def record(self, uid: ClusterUid, *told: object) -> None:
        """As the server that leads does, in a process of its own."""
        stream = cluster_stream(uid)
        while True:
            version = len(self.store.read_stream(stream))
            events = new_events(stream, version, told)
            try:
                self.store.append(stream, events, expected_version=version, origin=Origin("converger", epoch=1))
            except StreamConflict:  # the server recorded something of its own meanwhile
                continue
            return

    def keeps(self, uid: ClusterUid, seq: int) -> bool:
        return self.kept(uid) == seq

    def kept(self, uid: ClusterUid) -> int:
        """The number of the last that was heard of the agent and is kept; 0 for none."""
        row = self.latest.get(Subject(AGENT_REPORT, uid, KEY))
        return (row.seq or 0) if row is not None else 0


@pytest.fixture
def installation(tmp_path: Path, fresh_database: Callable[[str], str]) -> Iterator[Installation]:
    with listening(HOST, 0) as free:
        port = free.getsockname()[1]
    built = Installation(tmp_path, as_role(fresh_database("postgresql"), APP), port, [])
    yield built
    for server in built.started:
        server.end()
    built.engine.dispose()


@pytest.fixture
def agent(installation: Installation) -> Iterator["Agent"]:
    made = born(installation, installation.server())
    yield made
    made.client.close()


def born(installation: Installation, server: Server) -> "Agent":
    """The agent of a VM of a cluster that nothing is done with, as the server recorded it."""
    eventually(lambda: server.leads, server)
    assert server.post("/v1/apply", {"text": PAUSED}).json()["ok"]
    uid = ClusterUid(server.get("/v1/clusters/orders").json()["uid"])
    launched = facts.LaunchedInstance(KEY, "vm-1", "127.64.0.10")
    installation.record(
        uid,
        facts.SurgeRequested("intent-1", (broker(),), "test"),
        facts.SurgeCompleted("intent-1", (launched,), {}),
    )
    home = Home(installation.root / "home")
    assert home.agent_url() == f"https://{HOST}:{installation.port}", "though it does not listen there"
    told = boot_data(home, home.installation(), uid, NODE, 1, "intent-1")
    return Agent(installation, BootData.model_validate_json(told), installation.root / "vm")


class Agent:
    """The client of a real agent, and no more of it than what it says."""

    def __init__(self, installation: Installation, boot: BootData, state: Path) -> None:
        state.mkdir()
        self.boot, self.uid = boot, ClusterUid(boot.cluster_uid)
        trust = PinnedCa(boot.server_url, boot.ca_sha256, kept=state / "ca.pem")
        self.client = ServerClient(boot.server_url, identity_of(boot, CREDENTIAL), trust=trust)
        self.installation = installation
        self.seq = 0

    def enrol(self) -> None:
        self.client.enrol(enrol_request(self.boot, CREDENTIAL))

    def document(self) -> tuple[Document, str]:
        answer = self.client.document(etag="", wait_s=0)
        assert isinstance(answer, NewDocument)
        return Document.model_validate_json(answer.raw), answer.etag

    def waits_for_a_service(self, etag: str) -> Document:
        """The first document with one, heard by a question that is held while there is no news."""
        while True:
            answer = self.client.document(etag=etag, wait_s=HELD_S)
            assert isinstance(answer, NewDocument), "a question was held to its end: no news came through"
            etag, told = answer.etag, Document.model_validate_json(answer.raw)
            if told.services:
                return told

    def reports(self, preemption: PreemptionReport | None = None) -> ReportAnswer:
        self.seq += 1
        told = Report(
            cluster_uid=self.uid,
            node=NODE,
            generation=1,
            boot_id="b",
            seq=self.seq,
            at=datetime.now(UTC),
            agent_version="1",
            epoch=1,
            services=(),
            digest="d1",
            preemption=preemption,
        )
        return self.client.report(told)

    def says_nothing_changed(self) -> ReportAnswer:
        self.seq += 1
        return self.client.unchanged(
            UnchangedReport(
                wire=1, cluster_uid=self.uid, node=NODE, generation=1, boot_id="b", seq=self.seq, digest="d1"
            )
        )

    def is_heard(self) -> bool:
        """A report of it is answered: it tries again, as agents do."""
        try:
            return self.reports().accepted
        except RetryLater:
            return False


def _is_ready(process: Server) -> bool:
    return process.get("/readyz").status_code == 200


def test_an_agent_goes_from_one_process_to_the_other_and_nothing_is_lost(
    installation: Installation, agent: Agent
) -> None:
    one, other = installation.agents("one"), installation.agents("other")
    for process in (one, other):
        eventually(partial(_is_ready, process), process)
    agent.enrol()
    document, etag = agent.document()
    assert (document.epoch, document.services) == (1, ())

    # What another process records is heard by the question that is held, at whichever of them it is.
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(agent.waits_for_a_service, etag)
        voter = facts.FoundingVoter("controllers-a-0", 100, "127.64.0.1", 9093, "dir")
        installation.record(agent.uid, facts.QuorumFounded("kafka", "4.1", (voter,)))
        assert answer.result(DEADLINE_S).services[0].name == "broker"

    # Reports are kept where the server that leads looks for them.
    assert agent.reports().accepted
    until(lambda: installation.kept(agent.uid) == 1, "the report is kept", timeout_s=DEADLINE_S)
    assert agent.says_nothing_changed().accepted

    # One dies, and then the other: the agent is with a process that knows it from the database alone.
    for dying, name in ((one, "one"), (other, "other")):
        dying.signal(signal.SIGKILL)
        dying.wait()
        eventually(agent.is_heard, installation.started[0], timeout_s=DEADLINE_S)
        told = agent.seq
        until(partial(installation.keeps, agent.uid, told), "the report is kept", timeout_s=DEADLINE_S)
        assert agent.document()[0].services[0].name == "broker"
        fresh = installation.agents(name)
        eventually(partial(_is_ready, fresh), fresh)

    # To one that never heard it, it is to say all of it; then to say that nothing changed is enough.
    for _ in range(10):
        agent.client.reconnect()
        answered = agent.says_nothing_changed()
        if answered.whole:
            assert agent.reports().accepted
    until(lambda: installation.kept(agent.uid) == agent.seq, "its last word is kept", timeout_s=DEADLINE_S)


def test_a_report_that_is_not_to_wait_wakes_the_loop_of_the_server(installation: Installation) -> None:
    """By itself that one looks at all clusters once a minute."""
    server = installation.server(KEDGE_LOOP__TICK_INTERVAL_S="60")
    agent, process = born(installation, server), installation.agents("one")
    eventually(lambda: process.get("/readyz").status_code == 200, process)
    agent.enrol()
    now = datetime.now(UTC)
    assert agent.reports(PreemptionReport(kind="preempt", deadline=now, since=now, words="preempted")).accepted
    eventually(lambda: rung_since(server, now), server)
    agent.client.close()


def rung_since(server: Server, moment: datetime) -> bool:
    """Whether the loop has looked at the one cluster that rang."""
    beats = server.get("/v1/loop").json()["beats"]
    return any(beat["rung"] == 1 and datetime.fromisoformat(beat["at"]) > moment for beat in beats)


def test_at_that_process_nobody_but_agents_is_served(installation: Installation, agent: Agent) -> None:
    process = installation.agents("one")
    eventually(lambda: process.get("/readyz").status_code == 200, process)
    for path in ("/", "/v1/clusters", "/v1/loop", "/login"):
        assert (process.get(path).status_code, process.get(path).json()["code"]) == (421, "agents-only")
    assert process.get("/v1/version").json()["part"] == "agents"
    assert 'part="agents"' in process.get("/v1/metrics").text
    believes = ssl.create_default_context(cafile=str(installation.root / "home" / "ca.pem"))
    with httpx.Client(base_url=agent.boot.server_url, verify=believes, trust_env=False) as anybody:
        assert anybody.get("/readyz").text == "ready\n"
        assert [anybody.get(path).status_code for path in ("/", "/v1/clusters", "/v1/version")] == [421, 421, 403]
    server = installation.started[0]
    assert server.get("/v1/clusters/orders").status_code == 200, "people go on being served"

    server.signal(signal.SIGKILL)
    server.wait()
    eventually(lambda: process.get("/readyz").status_code == 503, process, timeout_s=2 * DEADLINE_S)
    assert process.get("/readyz").text == "not ready: no server leads\n"
    process.signal(signal.SIGTERM)
    assert process.wait() == 0, process.log
    assert "Traceback" not in process.log


def refusal(home: Path, **settings: str) -> str:
    """Starts one that does not come up."""
    environ = {"PATH": os.environ["PATH"], "KEDGE_PROCESS__ONLY": "agents", "KEDGE_AGENTS__HOST": HOST, **settings}
    process = ServerProcess(str(home), {**environ, "KEDGE_AGENTS__PORT": "0"})
    said = process.stderr.read()
    assert process.wait(DEADLINE_S) != 0
    return said


def test_it_does_not_start_without_the_keys_of_the_server(installation: Installation) -> None:
    home = installation.root / "one"
    home.mkdir()
    database = {"KEDGE_DATABASE__URL": installation.database}
    assert "no server has worked on this database yet" in refusal(home, **database)
    installation.server()
    told = refusal(home, **database)
    assert "has no installation-id, server-key, ca.pem, ca-key.pem" in told
    assert not list(home.glob("*key*")), "nothing is minted"
    for key in KEYS:
        shutil.copy(installation.root / "home" / key, home)
    (home / "server-key").write_text("ab" * 32)
    assert "has other keys than the server's home" in refusal(home, **database)


def test_a_server_that_serves_agents_itself_keeps_the_port_and_it_is_told(installation: Installation) -> None:
    server = Home(installation.root / "home")
    installation.begun(server, KEDGE_AGENTS__APART="false")
    with pytest.raises(AssertionError, match=r"set agents\.apart there"):
        installation.agents("one")
