"""A real server over TLS on a loopback address, and the agent's real client: for tests of who is believed."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from agent.client import ServerClient
from agent.credential import CredentialFiles
from agent.identity import enrol_request, identity_of
from agent.trust import PinnedCa, fetch_ca
from agent.wire import BootData, Report
from controlplane.api.connections import ConnectionTable, GuardedProtocol
from controlplane.runtime.listen_addresses import ListenAddress, listening
from controlplane.server.boot_data import boot_data
from controlplane.server.settings import Settings, load_settings
from controlplane.server.tls_agents import AgentTls
from controlplane.server.web_server import WebServer
from controlplane.storage.agent_credentials import Vm
from controlplane.storage.certificates.authority import Authority
from controlplane.storage.home import Home, ServerRecord
from controlplane.storage.lease_holder import Candidate
from tests.fakes.leases import MemoryLeaseStore
from tests.unit.controlplane.api.portal_house import START, House, broker, vm_of
from tests.waiting import until

HOST = "127.0.43.1"


@dataclass
class Heard:
    """An app, and what it was asked: (path, did it carry a credential)."""

    app: ASGIApp
    asked: list[tuple[str, bool]] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self.asked.append((scope["path"], any(name == b"authorization" for name, _ in scope["headers"])))
        await self.app(scope, receive, send)


@dataclass
class Parts:
    """What `WebServer` looks at."""

    home: Home
    candidate: Candidate
    settings: Settings


@dataclass
class Door:
    """A server that agents call, and what a VM of it was born with."""

    url: str
    house: House
    heard: Heard
    vm: Vm
    boot: BootData


@contextmanager
def served(
    tmp_path: Path, authority: Authority, *, shows: AgentTls | None = None, ca_pem: str | None = None
) -> Iterator[Door]:
    """A server over TLS; `shows` is an imitator's side of it, `ca_pem` what it says its CA is."""
    house, home = House(), Home(tmp_path / "home")
    object.__setattr__(house.services.access, "ca_pem", authority.pem if ca_pem is None else ca_pem)
    object.__setattr__(house.services.access, "authority", authority)
    house.apply()
    vm = vm_of(house.launch(broker()), broker())
    people, agents = listening("127.0.0.1", 0), listening(HOST, 0)
    address = ListenAddress(HOST, agents.getsockname()[1], "https")
    home.keep_agent_url(address.url, ca_sha256=authority.sha256)
    heard = Heard(house.app)
    table = ConnectionTable(house.services.operations.load)
    server = WebServer(
        uvicorn.Config(
            heard,
            http=partial(GuardedProtocol, table),  # type: ignore[arg-type]
            log_config=None,
            proxy_headers=False,
        ),
        Parts(
            home,
            Candidate(MemoryLeaseStore(longest_call_s=10.0), owner="one", term_s=30.0),
            load_settings(home=home.path),
        ),  # type: ignore[arg-type]
        table=table,
        feed=house.app.state.feed,
        record=ServerRecord("http://127.0.0.1:1", 1),
        told=None,
        tls=shows or AgentTls(authority, [HOST]),
        agents_door=agents,
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [people]})
    thread.start()
    born = boot_data(home, house.services.access.installation, vm.cluster_uid, vm.node, vm.generation, "intent-1")
    try:
        until(lambda: server.started)
        yield Door(address.url, house, heard, vm, BootData.model_validate_json(born))
    finally:
        server.handle_exit(15, None)
        thread.join(20)
        for door in (people, agents):
            door.close()
    assert not thread.is_alive()


@contextmanager
def calling(boot: BootData, state: Path, *, fetch: Callable[[str], bytes] = fetch_ca) -> Iterator[ServerClient]:
    """The client as `python -m agent` makes it."""
    state.mkdir(exist_ok=True)
    trust = PinnedCa(boot.server_url, boot.ca_sha256, kept=state / "ca.pem", fetch=fetch)
    client = ServerClient(boot.server_url, identity_of(boot, CredentialFiles(state).load_or_make()), trust=trust)
    try:
        yield client
    finally:
        client.close()


def enrol(client: ServerClient, boot: BootData) -> None:
    client.enrol(enrol_request(boot, client.shown))


def report(vm: Vm, seq: int) -> Report:
    return Report(
        cluster_uid=vm.cluster_uid,
        node=vm.node,
        generation=vm.generation,
        boot_id="b",
        seq=seq,
        at=START,
        agent_version="1",
        epoch=3,
        services=(),
    )


def no_download_source(url: str) -> bytes:
    raise AssertionError(f"{url} was asked for its CA once more")
