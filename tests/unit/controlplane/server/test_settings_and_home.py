"""Settings from arguments, environment and file; and what an installation keeps in its home."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import SecretBytes

from controlplane.api.oidc.signin import OidcSignIn
from controlplane.background.agent_upgrades.signing import AgentSigner
from controlplane.cluster.gateways import Gateways
from controlplane.server.settings import ServerSettingsRefused, Settings, load_settings
from controlplane.storage.home import Home, ServerRecord


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [n for n in os.environ if n.startswith("KEDGE_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def test_without_anything_a_server_lives_in_the_current_directory(tmp_path: Path) -> None:
    settings = load_settings()
    assert (settings.home, settings.host, settings.port) == (tmp_path / ".kedge", "127.0.0.1", 8428)
    assert settings.database == f"sqlite:///{tmp_path / '.kedge' / 'kedge.db'}"
    assert settings.kafka_dir == tmp_path / ".cache" / "kafka"


def test_arguments_beat_the_environment_which_beats_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "kedge.toml").write_text("port = 1\nmax_rolling = 2\nworkers = 3\n")
    monkeypatch.setenv("KEDGE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KEDGE_PORT", "11")
    monkeypatch.setenv("KEDGE_MAX_ROLLING", "12")
    settings = load_settings(port=111, host=None)
    assert (settings.port, settings.max_rolling, settings.workers) == (111, 12, 3)


def test_the_file_of_a_home_named_as_an_argument_is_read(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "kedge.toml").write_text("port = 77\n")
    assert load_settings(home=tmp_path / "other").port == 77


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.1", "example.org", "::"])
def test_an_address_others_can_reach_is_refused_with_the_reason(host: str) -> None:
    with pytest.raises(ServerSettingsRefused, match=r"loopback.*set portal_host.*agent_host"):
        load_settings(host=host)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_is_allowed(host: str) -> None:
    assert load_settings(host=host).host == host


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"agent_host": "kedge.example"}, "is not an IP address.*agent_name"),
        ({"agent_host": "0.0.0.0"}, "every address.*agent_name"),
        ({"agent_host": "::"}, "every address.*agent_name"),
        ({"agent_name": "kedge.example"}, "agent_host is not"),
        ({"agent_host": "10.0.0.1", "agent_name": "https://kedge.example"}, "without scheme and port"),
        ({"agent_host": "10.0.0.1", "agent_name": "kedge.example:8443"}, "without scheme and port"),
        ({"agent_host": "10.0.0.1", "agent_name": "0.0.0.0"}, "not a host name or address"),
        ({"agent_host": "10.0.0.1", "credential_life_s": 1}, "KEDGE_CREDENTIAL_LIFE_S"),
        ({"server_addresses": ("10.0.0.0/8",)}, "KEDGE_SERVER_ADDRESSES.*wider than a /16"),
        ({"server_addresses": ("kedge.example",)}, "not an IPv4 address or network"),
        ({"cost_tags": ("team", "kedge-node")}, "KEDGE_COST_TAGS.*Kedge's own"),
        ({"cost_tags": ("team", "Team")}, "listed twice"),
    ],
)
def test_agents_are_served_where_they_can_call(given: dict[str, object], why: str) -> None:
    with pytest.raises(ServerSettingsRefused, match=why):
        load_settings(**given)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"agent_host": "10.0.0.1"}, "10.0.0.1"),
        ({"agent_host": "fd00::1"}, "fd00::1"),
        ({"agent_host": "0.0.0.0", "agent_name": "kedge.example"}, "kedge.example"),
        ({"agent_host": "::", "agent_name": "10.0.0.9"}, "10.0.0.9"),
        ({}, ""),
    ],
)
def test_vms_are_told_the_name_agents_are_served_by(given: dict[str, object], told: str) -> None:
    assert load_settings(**given).told_agent_host == told


def test_every_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEDGE_PORT", "99999")
    monkeypatch.setenv("KEDGE_LEASE_TERM_S", "1")
    with pytest.raises(ServerSettingsRefused) as refused:
        load_settings(log_level="loud")
    assert [line.split(":")[0] for line in str(refused.value).splitlines()] == [
        "KEDGE_PORT",
        "KEDGE_LEASE_TERM_S",
        "KEDGE_LOG_LEVEL",
    ]


def test_spark_that_is_off_cannot_be_required(tmp_path: Path) -> None:
    assert not load_settings(home=tmp_path, spark_master="off").uses_spark
    with pytest.raises(ServerSettingsRefused, match="nothing could ever be planned"):
        load_settings(home=tmp_path, spark_master="off", require_spark=True)


def test_an_unknown_setting_in_the_file_and_a_broken_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / ".kedge").mkdir()
    (tmp_path / ".kedge" / "kedge.toml").write_text("prot = 1\n")
    with pytest.raises(ServerSettingsRefused, match="PROT"):
        load_settings()
    (tmp_path / ".kedge" / "kedge.toml").write_text("port = \n")
    with pytest.raises(ServerSettingsRefused, match="cannot be read"):
        load_settings()


def test_every_setting_says_what_it_is_or_is_plain_by_its_name() -> None:
    plain = {"tick_interval_s", "lease_term_s", "terraform_threads", "log_level"}
    assert {n for n, f in Settings.model_fields.items() if not f.description} == plain


def test_the_identity_of_an_installation_is_minted_once_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    first = home.installation()
    assert home.installation() == first
    assert len(first.server_key) == 32
    for name in ("installation-id", "server-key", "token"):
        assert stat.S_IMODE((home.path / name).stat().st_mode) == 0o600
    assert stat.S_IMODE(home.path.stat().st_mode) == 0o700
    assert home.token_file.read_text().strip() == first.token.get_secret_value()


def test_servers_that_start_together_agree_on_the_identity(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        minted = list(pool.map(lambda _: Home(tmp_path / "home").installation(), range(16)))
    assert len({(i.id, i.server_key, i.token) for i in minted}) == 1


def test_a_key_somebody_opened_to_others_is_closed_again(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.installation()
    (tmp_path / "server-key").chmod(0o644)
    home.installation()
    assert stat.S_IMODE((tmp_path / "server-key").stat().st_mode) == 0o600


def test_an_installation_shows_no_secret(tmp_path: Path) -> None:
    installation = Home(tmp_path).installation()
    key = installation.server_key.get_secret_value()
    for told in (repr(installation), f"{installation.server_key} {installation.token}", repr(vars_of(installation))):
        assert installation.token.get_secret_value() not in told
        assert repr(key) not in told
        assert key.hex() not in told


def test_who_holds_the_key_of_the_home_shows_none_of_it() -> None:
    """The sign-in of a provider is a dataclass, and once had the key among its fields as it is."""
    key = SecretBytes(b"the key of a home")
    held = (OidcSignIn(cast(Any, None), cast(Any, None), key), Gateways(cast(Any, None), key), AgentSigner(key))
    for holder in held:
        assert "key of a home" not in repr(holder)
        assert "key of a home" not in repr(vars_of(holder))


def vars_of(thing: object) -> dict[str, object]:
    """Every field by name, as a debugger or a careless line of a log would print it."""
    names = getattr(thing, "__slots__", None) or vars(thing)
    return {name: getattr(thing, name) for name in names}


def test_where_the_server_listens_is_forgotten_by_itself_only(tmp_path: Path) -> None:
    home, mine, other = Home(tmp_path), ServerRecord("http://127.0.0.1:1", 1), ServerRecord("http://127.0.0.1:2", 2)
    assert home.server() is None
    home.keep_server(mine)
    home.forget_server(other)
    assert home.server() == mine
    home.forget_server(mine)
    assert home.server() is None
    (tmp_path / "server.json").write_text("half")
    assert home.server() is None


def test_the_address_for_agents_is_remembered(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert home.agent_url() is None
    home.keep_agent_url("http://127.0.0.1:8428")
    assert home.agent_url() == "http://127.0.0.1:8428"
    assert home.agent_ca() is None
    home.keep_agent_url("https://10.0.0.5:8443", ca_sha256="ab" * 32)
    assert (home.agent_url(), home.agent_ca()) == ("https://10.0.0.5:8443", "ab" * 32)
