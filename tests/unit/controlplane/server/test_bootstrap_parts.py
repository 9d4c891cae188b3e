"""What the server is put together from: boot data, gateways, clouds, modules, and the address VMs were told."""

import asyncio
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from agent.wire import BootData
from controlplane.api.auth import enrolment_token
from controlplane.api.connections import ConnectionTable
from controlplane.cluster.gateways import Gateways, bootstrap_of
from controlplane.cluster.view import ClusterView
from controlplane.runtime.listen_addresses import AddressRefused, CannotListen, ListenAddress, address_of, listening
from controlplane.server.assembly.core import ground_of
from controlplane.server.boot_data import boot_data
from controlplane.server.bootstrap import build
from controlplane.server.clouds import Clouds, local_root
from controlplane.server.process import _address_for_agents
from controlplane.server.settings import Settings, load_settings
from controlplane.server.terraform_runs import module_root
from controlplane.server.tls_agents import AgentTls
from controlplane.server.web_server import WebServer
from controlplane.storage.certificates.authority import Authority, load_or_make
from controlplane.storage.home import Home, ServerRecord
from controlplane.storage.lease_holder import Candidate
from events import facts
from events.clock import utc_now
from events.ids import ClusterUid, IntentId
from providers.errors import PlaceUnknown
from providers.tf.mirror import ProviderMirror
from providers.tf.states import StateKey
from tests.fakes.leases import MemoryLeaseStore
from tests.unit.controlplane.api.portal_house import House, broker, three_brokers

UID = ClusterUid("ab" * 16)


def test_boot_data_is_the_same_bytes_each_time_and_carries_the_derived_token(tmp_path: Path) -> None:
    home = Home(tmp_path)
    installation = home.installation()
    home.keep_agent_url("http://127.0.0.1:8428")
    texts = {boot_data(Home(tmp_path), home.installation(), UID, "brokers-a-0", 2, "intent") for _ in range(3)}
    [text] = texts
    boot = BootData.model_validate_json(text)
    assert (boot.server_url, boot.installation_id, boot.generation) == ("http://127.0.0.1:8428", installation.id, 2)
    assert boot.token.get_secret_value() == enrolment_token(installation.server_key, IntentId("intent"))
    assert list(json.loads(text)) == sorted(json.loads(text))


def fixed_installation(home: Home) -> None:
    """The ids and keys of a home, the same in each test."""
    home.installation()
    (home.path / "installation-id").write_text("0011223344556677\n")
    (home.path / "server-key").write_text(f"{'ab' * 32}\n")


BORN_BEFORE_TLS = (
    '{"cluster_uid":"abababababababababababababababab","generation":2,"installation_id":"0011223344556677",'
    '"intent_id":"intent","node":"brokers-a-0","server_url":"http://127.0.0.1:8428",'
    '"token":"27bd5755182b3c4e339fe4fc3302817654d4b34076ac9cb49f94a4ca33777d15","wire":1}'
)
"""Rendered by the release before TLS."""


def test_boot_data_of_vms_that_were_born_without_tls_renders_to_the_same_bytes_as_ever(tmp_path: Path) -> None:
    home = Home(tmp_path)
    fixed_installation(home)
    home.keep_agent_url("http://127.0.0.1:8428")
    assert boot_data(home, home.installation(), UID, "brokers-a-0", 2, "intent") == BORN_BEFORE_TLS
    # A CA that is there, and one that VMs were told once, change nothing while the address is without TLS.
    load_or_make(tmp_path, "0011223344556677", now=utc_now())
    home.keep_agent_url("http://127.0.0.1:8428", ca_sha256="cd" * 32)
    assert boot_data(home, home.installation(), UID, "brokers-a-0", 2, "intent") == BORN_BEFORE_TLS


def test_boot_data_over_tls_carries_the_hash_of_the_ca_and_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    home = Home(tmp_path)
    fixed_installation(home)
    home.keep_agent_url("https://kedge.example:8443", ca_sha256="cd" * 32)
    texts = {boot_data(Home(tmp_path), home.installation(), UID, "brokers-a-0", 2, "intent") for _ in range(3)}
    plain = BORN_BEFORE_TLS.replace("http://127.0.0.1:8428", "https://kedge.example:8443")
    assert texts == {plain.replace('{"cluster_uid"', f'{{"ca_sha256":"{"cd" * 32}","cluster_uid"')}


def test_boot_data_over_tls_is_not_made_without_the_hash(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.keep_agent_url("https://kedge.example:8443")
    with pytest.raises(RuntimeError, match="`agent-ca` is missing"):
        boot_data(home, home.installation(), UID, "brokers-a-0", 1, "intent")


def test_no_boot_data_is_made_before_it_is_known_where_agents_are_to_call(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with pytest.raises(RuntimeError, match="no address for agents"):
        boot_data(home, home.installation(), UID, "brokers-a-0", 1, "intent")


# --- gateways ---------------------------------------------------------------------------------------------------


@dataclass
class Dials:
    """A dialer that counts what is hung up."""

    hung_up: list[str] = field(default_factory=list)

    def hang_up(self, cluster: str) -> None:
        self.hung_up.append(cluster)

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


def test_a_gateway_is_kept_while_the_brokers_are_the_same() -> None:
    house, dials = House(), Dials()
    house.apply()
    house.join(*three_brokers())
    gateways = Gateways(dials)  # type: ignore[arg-type]
    first = gateways.of(house.view())
    house.record(facts.ClusterPaused("x", None))
    assert gateways.of(house.view()) is first
    assert dials.hung_up == []


def test_a_gateway_is_dialled_anew_when_a_broker_came_or_went() -> None:
    house, dials = House(), Dials()
    house.apply()
    view = house.join(*three_brokers())
    gateways = Gateways(dials)  # type: ignore[arg-type]
    first = gateways.of(house.view())
    assert bootstrap_of(house.view()) == ("127.64.0.10:9092", "127.64.0.11:9092", "127.64.0.12:9092")
    house.record(facts.InstanceLost("brokers-b-0.g1", "t"))
    assert bootstrap_of(house.view()) == ("127.64.0.10:9092", "127.64.0.12:9092")
    assert gateways.of(house.view()) is not first
    assert dials.hung_up == [view.uid]


def test_a_broker_without_an_address_is_not_dialled() -> None:
    house = House()
    house.apply()
    house.surge(broker())
    assert bootstrap_of(house.view()) == ()


# --- clouds and modules -----------------------------------------------------------------------------------------


def test_the_local_cloud_is_built_once_in_the_home(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path, kafka_dir=tmp_path / "images")
    clouds = Clouds(settings, "inst")
    assert clouds("local") is clouds("local")
    assert clouds("local").name == "local"
    assert (local_root(settings) / "config.json").exists()
    with pytest.raises(PlaceUnknown):
        clouds("nowhere")


def test_the_terraform_modules_of_a_checkout_are_found(tmp_path: Path) -> None:
    assert (module_root(load_settings(home=tmp_path)) / "local").is_dir()
    mine = tmp_path / "mine"
    mine.mkdir()
    assert module_root(load_settings(home=tmp_path, terraform_modules=mine)) == mine


@pytest.mark.parametrize("storage", ["local", "http"])
def test_every_run_of_a_server_gets_providers_from_the_mirror_of_its_settings(tmp_path: Path, storage: str) -> None:
    """It goes with the states, which no run of Terraform does without."""
    (tmp_path / "mirror").mkdir()
    told = {"home": tmp_path / "home", "terraform_state": storage, "terraform_mirror": str(tmp_path / "mirror")}
    ground = ground_of(load_settings(**told), states_at=("127.0.0.1", 1), take_over_home=False, move_states=False)
    mirror = ground.storage.states.of(StateKey(UID, "aws.production.eu-west-1")).mirror
    ground.dispose()
    assert mirror == ProviderMirror(str(tmp_path / "mirror"))


def test_a_server_is_put_together_and_taken_apart_without_starting_anything(tmp_path: Path) -> None:
    services = build(load_settings(home=tmp_path / "home"), listens_on=("127.0.0.1", 4711))
    try:
        services.converger.catch_up()
        assert services.portal.access.hosts >= {"127.0.0.1:4711", "localhost:4711"}
        assert services.portal.operations.planner_state() == "starting"
        assert not services.candidate.may_act
        summary = services.portal.operations.backup(tmp_path / "backup")
        assert summary.head == 0
    finally:
        services.close()


# --- the address VMs were told ----------------------------------------------------------------------------------


@dataclass
class Parts:
    """What `WebServer` and `_address_for_agents` look at."""

    home: Home
    candidate: Candidate
    views: Callable[[], list[ClusterView]]
    settings: Settings
    authority: Authority | None = None

    @property
    def converger(self) -> "Parts":
        return self


def parts(tmp_path: Path, views: Callable[[], list[ClusterView]] = list) -> Parts:
    home = Home(tmp_path)
    home.installation()
    candidate = Candidate(MemoryLeaseStore(longest_call_s=10.0), owner="one", term_s=30.0)
    return Parts(home, candidate, views, load_settings(home=tmp_path))


MINE, EARLIER = ListenAddress("127.0.0.1", 1111), ListenAddress("127.0.0.1", 2222)


def test_the_first_server_fixes_what_vms_are_told(tmp_path: Path) -> None:
    services = parts(tmp_path)
    assert _address_for_agents(services, MINE) is None  # type: ignore[arg-type]
    assert services.home.agent_url() == "http://127.0.0.1:1111"


def test_another_address_is_told_only_while_no_vm_knows_the_earlier_one(tmp_path: Path) -> None:
    house = House()
    house.apply()
    services = parts(tmp_path, house.converger.views)
    services.home.keep_agent_url(EARLIER.url)
    assert _address_for_agents(services, MINE) is None  # type: ignore[arg-type]
    assert services.home.agent_url() == MINE.url
    services.home.keep_agent_url(EARLIER.url)
    house.surge(broker())
    assert _address_for_agents(services, MINE) == EARLIER  # type: ignore[arg-type]
    assert services.home.agent_url() == EARLIER.url


def test_a_history_without_any_cluster_does_not_change_what_vms_are_told(tmp_path: Path) -> None:
    """Its database may be new: the VMs of the lost one still ask at the earlier address."""
    services = parts(tmp_path)
    services.home.keep_agent_url(EARLIER.url)
    assert _address_for_agents(services, MINE) == EARLIER  # type: ignore[arg-type]
    assert services.home.agent_url() == EARLIER.url


OVER_TLS = ListenAddress("kedge.example", 8443, "https")


def test_vms_are_told_the_ca_with_an_address_over_tls(tmp_path: Path) -> None:
    services = parts(tmp_path)
    services.authority = load_or_make(tmp_path, "inst", now=utc_now())
    assert _address_for_agents(services, OVER_TLS) is None  # type: ignore[arg-type]
    told = (services.home.agent_url(), services.home.agent_ca())
    assert told == ("https://kedge.example:8443", services.authority.sha256)


def test_tls_reaches_vms_only_when_none_lives_that_was_told_another_address(tmp_path: Path) -> None:
    house = House()
    house.apply()
    services = parts(tmp_path, house.converger.views)
    services.authority = load_or_make(tmp_path, "inst", now=utc_now())
    services.home.keep_agent_url(EARLIER.url)
    house.surge(broker())
    assert _address_for_agents(services, OVER_TLS) == EARLIER  # type: ignore[arg-type]
    assert (services.home.agent_url(), services.home.agent_ca()) == (EARLIER.url, None)


@pytest.mark.parametrize("url", ["http://10.0.0.5:8428", "http://kedge.example", "ftp://127.0.0.1", "127.0.0.1:80", ""])
def test_an_address_for_agents_that_would_be_plain_http_over_a_network_is_refused(url: str) -> None:
    with pytest.raises(AddressRefused, match="Put it back"):
        address_of(url)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8428", "http://[::1]:8428", "https://10.0.0.5:8443", "https://[fd00::1]:8443"]
)
def test_an_address_is_read_as_it_was_written(url: str) -> None:
    assert address_of(url).url == url


def test_a_home_that_says_plain_http_over_a_network_starts_no_server(tmp_path: Path) -> None:
    house = House()
    house.apply()
    house.surge(broker())
    services = parts(tmp_path, house.converger.views)
    services.home.keep_agent_url("http://10.0.0.5:8428")
    with pytest.raises(AddressRefused, match=r"http://10\.0\.0\.5:8428.*agents\.host"):
        _address_for_agents(services, MINE)  # type: ignore[arg-type]


def test_a_leader_answers_over_tls_where_vms_were_told_so(tmp_path: Path) -> None:
    """Also when the settings say nothing of it any more."""
    services, (earlier, door) = parts(tmp_path), (listening("127.0.43.1", 0), listening("127.0.0.1", 0))
    told = ListenAddress("127.0.43.1", earlier.getsockname()[1], "https")
    earlier.close()
    authority = load_or_make(tmp_path, "inst", now=utc_now())
    services.candidate.step()
    with running(services, door, told, AgentTls(authority, [told.host])) as server:
        assert server.rounds(15)
        assert len(server.servers) == 2
        believing = ssl.create_default_context(cadata=authority.pem)
        assert httpx.get(f"{told.url}/agent/v1/ca", verify=believing, timeout=30).json()["code"] == "no-ca"


def test_a_leader_answers_where_vms_were_told_once_that_address_is_free(tmp_path: Path) -> None:
    services, (earlier, door) = parts(tmp_path), (listening("127.0.0.1", 0), listening("127.0.0.1", 0))
    told = ListenAddress("127.0.0.1", earlier.getsockname()[1])
    with running(services, door, told) as server:
        assert server.rounds(15)
        services.candidate.step()
        assert server.rounds(15)
        assert len(server.servers) == 1
        earlier.close()
        assert server.rounds(15)
        assert len(server.servers) == 2
        with pytest.raises(CannotListen):
            listening(told.host, told.port)
        known = services.home.server()
        assert known is not None
        assert known.url.endswith(":1")


class Counted(WebServer):
    """Tells how often its loop has come round."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._came_round = threading.Semaphore(0)

    async def main_loop(self) -> None:
        """uvicorn's, but for its 0.1 s between two rounds: nothing here takes so long."""
        counter = 0
        while not await self.on_tick(counter):
            counter += 1
            await asyncio.sleep(0.005)

    async def on_tick(self, counter: int) -> bool:
        over = await super().on_tick(counter)
        self._came_round.release()
        return over

    def rounds(self, count: int) -> bool:
        while self._came_round.acquire(blocking=False):
            pass
        return all(self._came_round.acquire(timeout=10) for _ in range(count))


@contextmanager
def running(services: Parts, door: Any, told: ListenAddress, tls: AgentTls | None = None) -> Iterator[Counted]:
    house = House()
    server = Counted(
        uvicorn.Config(house.app, log_config=None),
        services,
        table=ConnectionTable(house.services.operations.load),
        feed=house.app.state.feed,
        record=ServerRecord("http://127.0.0.1:1", 1),
        told=told,
        tls=tls,
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [door]})
    thread.start()
    try:
        yield server
    finally:
        server.handle_exit(15, None)
        thread.join(20)
        assert not thread.is_alive()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_second_half_of_an_answer_does_not_wait_until_the_first_is_acknowledged(host: str) -> None:
    with listening(host, 0) as door, socket.create_connection(door.getsockname()[:2]), door.accept()[0] as taken:
        assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_taken_address_is_refused_with_what_to_do() -> None:
    with listening("127.0.0.1", 0) as taken, pytest.raises(CannotListen, match="KEDGE_PROCESS__PORT"):
        listening("127.0.0.1", taken.getsockname()[1])


def test_an_address_this_machine_does_not_have_is_refused_by_the_setting_that_names_it() -> None:
    with pytest.raises(CannotListen, match="no such address; KEDGE_AGENTS__HOST") as refused:
        listening("203.0.113.7", 8443, settings="KEDGE_AGENTS_")
    assert not refused.value.is_taken


def test_addresses_are_written_as_urls() -> None:
    assert ListenAddress("127.0.0.1", 1).url == "http://127.0.0.1:1"
    assert replace(MINE, host="::1").url == "http://[::1]:1111"
