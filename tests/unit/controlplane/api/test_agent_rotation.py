"""The agent's own code against the server's own code, without a network: rotations, and every way to be cut short."""

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from agent.backoff import Backoff
from agent.client import ServerClient
from agent.credential import CredentialFiles
from agent.identity import enrol_request, identity_of
from agent.inbox import Inbox, ReportOutbox
from agent.rotation import Rotation
from agent.talk import DocumentTalk, ReportTalk
from agent.wire import BootData, Report
from controlplane.api.auth import enrolment_token
from controlplane.storage.agent_credentials import Vm
from events.ids import IntentId
from tests.unit.controlplane.api.portal_house import START, House, broker, vm_of

OLD, NEW = "a" * 64, "b" * 64


@pytest.fixture(params=["by the routes", "by what is in memory"])
def house(request: pytest.FixtureRequest) -> House:
    """With `orders`; who asks again is answered without the routes, and hears the same."""
    house = House(remembers_agents=request.param == "by what is in memory")
    house.apply()
    return house


class Agent:
    """All of an agent that talks. A new one on the same directory is the agent after a crash."""

    def __init__(self, house: House, vm: Vm, state: Path) -> None:
        state.mkdir(exist_ok=True)
        self.house, self.vm, self.inbox, self.outbox = house, vm, Inbox(), ReportOutbox()
        self.calls: list[tuple[str, int]] = []
        self.loses_answer_to = ""
        self.meanwhile: Callable[[], None] | None = None
        """Happens once, while the next request is on its way."""
        self.credential = CredentialFiles(state)
        boot = BootData(
            server_url="http://127.0.0.1:8428",
            installation_id="inst",
            cluster_uid=vm.cluster_uid,
            node=vm.node,
            generation=vm.generation,
            intent_id="intent-1",
            token=SecretStr(enrolment_token(house.services.access.installation.server_key, IntentId("intent-1"))),
        )
        self.client = ServerClient(
            boot.server_url,
            identity_of(boot, self.credential.load_or_make()),
            transport=httpx.MockTransport(self._through),
        )
        backoff = partial(Backoff, 1.0, 8.0, jitter=lambda: 1.0)
        self.documents = DocumentTalk(
            client=self.client,
            credential=self.credential,
            enrolment=partial(enrol_request, boot),
            inbox=self.inbox,
            backoff=backoff(),
            etag="",
            wait_s=0,
        )
        self.reports = ReportTalk(
            client=self.client,
            credential=self.credential,
            rotation=Rotation(boot, client=self.client, credential=self.credential),
            outbox=self.outbox,
            inbox=self.inbox,
            backoff=backoff(),
        )
        self._seq = 0

    def report(self) -> float:
        self._seq += 1
        self.outbox.put(
            Report(
                cluster_uid=self.vm.cluster_uid,
                node=self.vm.node,
                generation=self.vm.generation,
                boot_id="b",
                seq=self._seq,
                at=START,
                agent_version="1",
                epoch=3,
                services=(),
            )
        )
        return self.reports.step()

    def is_heard(self) -> bool:
        """Whether it gets its document within the tries it makes by itself."""
        for _ in range(3):
            self.documents.step()
            if not self.inbox.take().problem:
                return True
        return False

    @property
    def in_force(self) -> str | None:
        known = self.house.credentials.get(self.vm)
        return known.credential_sha256 if known else None

    def _through(self, request: httpx.Request) -> httpx.Response:
        happens, self.meanwhile = self.meanwhile, None
        if happens is not None:
            happens()
        headers = {name: value for name, value in request.headers.items() if name != "host"}
        answer = self.house.client_with({}).request(
            request.method, str(request.url.raw_path, "ascii"), content=request.content, headers=headers
        )
        name = request.url.path.rsplit("/", 1)[1]
        self.calls.append((name, answer.status_code))
        if name == self.loses_answer_to:
            raise httpx.ReadError("the answer was lost")
        return httpx.Response(
            answer.status_code, content=answer.content, headers={"ETag": answer.headers.get("ETag", "")}
        )


@pytest.fixture
def vm(house: House) -> Vm:
    return vm_of(house.launch(broker()), broker())


@pytest.fixture
def start(house: House, vm: Vm, tmp_path: Path) -> Callable[[], Agent]:
    return partial(Agent, house, vm, tmp_path / "state")


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def put(state: Path, **files: str) -> None:
    """The files a crash left behind."""
    state.mkdir(exist_ok=True)
    for name, secret in files.items():
        path = state / name.replace("_", ".")
        path.write_text(secret)
        path.chmod(0o600)


def test_an_agent_rotates_when_its_credential_is_a_week_old_and_is_heard_on(
    start: Callable[[], Agent], house: House, tmp_path: Path
) -> None:
    agent = start()
    assert agent.is_heard()
    first = agent.client.shown
    house.pass_time(days=7)
    assert agent.report() == 0.0
    assert agent.client.shown != first
    assert agent.in_force == digest(first), "until the new one was used once"
    assert agent.is_heard()
    assert agent.in_force == digest(agent.client.shown)
    assert [name for name, _ in agent.calls].count("enrol") == 1
    assert (tmp_path / "state" / "credential").read_text() == agent.client.shown
    assert {f.stat().st_mode & 0o777 for f in (tmp_path / "state").glob("credential*")} == {0o600}
    assert not (tmp_path / "state" / "credential.next").exists()


def test_no_two_rotations_make_the_same_secret_and_none_crosses_the_wire(
    start: Callable[[], Agent], house: House
) -> None:
    agent = start()
    shown = {agent.client.shown} if agent.is_heard() else set()
    for _ in range(3):
        house.pass_time(days=7)
        agent.report()
        agent.is_heard()
        shown.add(agent.client.shown)
    assert len(shown) == 4
    kept = repr(house.credentials.get(agent.vm))
    assert not any(secret in kept for secret in shown)


@pytest.mark.parametrize(
    ("disk", "recorded", "used"),
    [
        ({"credential": OLD}, False, False),
        ({"credential": OLD, "credential_next": NEW}, False, False),
        ({"credential": OLD, "credential_next": NEW}, True, False),
        ({"credential": OLD, "credential_next": NEW, "credential_earlier": OLD}, True, False),
        ({"credential": NEW, "credential_earlier": OLD}, True, False),
        ({"credential": NEW, "credential_earlier": OLD}, True, True),
    ],
    ids=[
        "before-it-began",
        "next-written",
        "answer-lost",
        "between-the-two-writes",
        "written-and-never-used",
        "used",
    ],
)
def test_wherever_a_rotation_is_cut_short_the_agent_is_heard_and_the_rotation_ends(
    start: Callable[[], Agent],
    house: House,
    vm: Vm,
    tmp_path: Path,
    disk: dict[str, str],
    recorded: bool,
    used: bool,
) -> None:
    house.credentials.enroll(vm, credential_sha256=digest(OLD), intent_id=IntentId("intent-1"))
    house.pass_time(days=7)
    if recorded:
        house.credentials.rotate(vm, shown_sha256=digest(OLD), next_sha256=digest(NEW))
    if used:
        assert house.credentials.recognise(vm, digest(NEW))
    put(tmp_path / "state", **disk, enrolled="")
    agent = start()
    assert agent.is_heard()
    agent.report()
    assert agent.is_heard()
    assert "enrol" not in [name for name, _ in agent.calls]
    assert 401 not in [status for _, status in agent.calls]
    assert agent.in_force == digest(agent.client.shown) != digest(OLD)
    assert house.credentials.recognise(vm, digest(OLD)) is None


def test_a_rotation_whose_answer_is_lost_is_repeated_with_the_same_secret(
    start: Callable[[], Agent], house: House
) -> None:
    agent = start()
    assert agent.is_heard()
    first = agent.client.shown
    house.pass_time(days=7)
    agent.loses_answer_to = "rotate"
    assert agent.report() > 5
    assert agent.client.shown == first
    recorded = house.credentials.get(agent.vm)
    assert recorded is not None
    assert agent.is_heard()
    agent.loses_answer_to = ""
    agent.report()
    assert digest(agent.client.shown) == recorded.next_sha256
    assert agent.is_heard()


def test_an_agent_whose_disk_is_broken_goes_on_with_the_credential_it_has(
    start: Callable[[], Agent], house: House, tmp_path: Path
) -> None:
    agent = start()
    assert agent.is_heard()
    first = agent.client.shown
    house.pass_time(days=7)
    (tmp_path / "state" / "credential.next").mkdir()
    assert agent.report() > 5
    assert agent.client.shown == first
    assert agent.is_heard()
    (tmp_path / "state" / "credential.next").rmdir()
    (tmp_path / "state" / "credential.earlier").mkdir()
    assert agent.report() > 5
    assert (tmp_path / "state" / "credential").read_text() == first
    assert start().is_heard()


def test_a_next_secret_that_a_damaged_disk_gives_back_is_made_anew(
    start: Callable[[], Agent], house: House, tmp_path: Path
) -> None:
    agent = start()
    assert agent.is_heard()
    house.pass_time(days=7)
    put(tmp_path / "state", credential_next="half")
    agent.report()
    assert len(agent.client.shown) == 64
    assert agent.is_heard()


def test_a_server_restored_from_a_backup_before_the_rotation_hears_its_agents(
    start: Callable[[], Agent], house: House
) -> None:
    agent = start()
    assert agent.is_heard()
    backed_up = house.credentials.get(agent.vm)
    assert backed_up is not None
    house.pass_time(days=7)
    agent.report()
    assert agent.is_heard()
    rotated_to = agent.client.shown
    house.credentials._credentials[agent.vm] = backed_up
    house.forget_agents()
    assert agent.is_heard()
    assert digest(agent.client.shown) == backed_up.credential_sha256
    again = start()
    assert again.client.shown == rotated_to
    assert again.is_heard(), "also when the agent starts anew meanwhile"
    again.report()
    assert again.is_heard()
    assert again.in_force == digest(again.client.shown) != backed_up.credential_sha256


def test_an_agent_whose_server_lost_its_database_enrols_the_credential_it_rotated_to(
    start: Callable[[], Agent], house: House
) -> None:
    agent = start()
    assert agent.is_heard()
    agent.credential.next()
    house.credentials.rotate(
        agent.vm, shown_sha256=digest(agent.client.shown), next_sha256=digest(agent.credential.next())
    )
    agent.client.show(agent.credential.switch(shown=agent.client.shown))
    assert agent.is_heard()
    del house.credentials._credentials[agent.vm]
    house.forget_agents()
    assert agent.is_heard()
    assert agent.in_force == digest(agent.client.shown)


def test_whoever_copied_the_credential_is_out_after_the_rotation_and_seen(
    start: Callable[[], Agent], house: House
) -> None:
    agent = start()
    assert agent.is_heard()
    copied = agent.client.shown
    house.pass_time(days=7)
    agent.report()
    assert agent.is_heard()
    house.pass_time(hours=1)
    assert house.agent(agent.vm, copied).post("/agent/v1/report", json={}).status_code == 401
    known = house.credentials.get(agent.vm)
    assert known is not None
    assert known.outdated_shown_at == house.now
    assert agent.is_heard()


def test_a_request_that_was_on_its_way_while_the_credential_changed_is_no_lost_credential(
    start: Callable[[], Agent], house: House
) -> None:
    """The document is asked for by another thread than the one that rotates."""
    agent = start()
    assert agent.is_heard()

    def rotate_to_the_end() -> None:
        credentials = house.services.access.credentials
        credentials.rotate(agent.vm, shown_sha256=digest(agent.client.shown), next_sha256=digest(NEW))
        assert credentials.recognise(agent.vm, digest(NEW))
        agent.client.show(NEW)

    agent.meanwhile = rotate_to_the_end
    assert agent.documents.step() < 5, "asked again soon"
    assert "rotated while" in agent.inbox.take().problem
    assert agent.credential.is_enrolled
    assert agent.is_heard()
