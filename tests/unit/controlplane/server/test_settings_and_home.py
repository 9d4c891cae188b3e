"""Settings from arguments, environment and file; and what an installation keeps in its home."""

import json
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import SecretBytes
from pydantic.fields import FieldInfo

from controlplane.api.oidc.signin import OidcSignIn
from controlplane.background.agent_upgrades.signing import AgentSigner
from controlplane.background.password_sinks.vault_binding import VaultBinding
from controlplane.cluster.gateways import Gateways
from controlplane.server.sections.old_names import NEW_NAMES, SECTIONS, variable_of
from controlplane.server.sections.section import Section
from controlplane.server.settings import ServerSettingsRefused, Settings, load_settings, warn_of_old_names
from controlplane.storage.home import Home, ServerRecord


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [n for n in os.environ if n.startswith("KEDGE_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def test_without_anything_a_server_lives_in_the_current_directory(tmp_path: Path) -> None:
    settings = load_settings()
    assert (settings.home, settings.process.host, settings.process.port) == (tmp_path / ".kedge", "127.0.0.1", 8428)
    assert settings.database_url == f"sqlite:///{tmp_path / '.kedge' / 'kedge.db'}"
    assert settings.kafka.dir == tmp_path / ".cache" / "kafka"


def test_arguments_beat_the_environment_which_beats_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "kedge.toml").write_text("port = 1\nmax_rolling = 2\nworkers = 3\n")
    monkeypatch.setenv("KEDGE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KEDGE_PORT", "11")
    monkeypatch.setenv("KEDGE_MAX_ROLLING", "12")
    settings = load_settings(port=111, host=None)
    assert (settings.process.port, settings.loop.max_rolling, settings.loop.workers) == (111, 12, 3)


def test_the_file_of_a_home_named_as_an_argument_is_read(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "kedge.toml").write_text("port = 77\n")
    assert load_settings(home=tmp_path / "other").process.port == 77


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.1", "example.org", "::"])
def test_an_address_others_can_reach_is_refused_with_the_reason(host: str) -> None:
    with pytest.raises(ServerSettingsRefused, match=r"loopback.*set portal\.host.*agents\.host"):
        load_settings(host=host)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_is_allowed(host: str) -> None:
    assert load_settings(host=host).process.host == host


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"agent_host": "kedge.example"}, "is not an IP address.*agents.name"),
        ({"agent_host": "0.0.0.0"}, "every address.*agents.name"),
        ({"agent_host": "::"}, "every address.*agents.name"),
        ({"agent_name": "kedge.example"}, "agents.host is not"),
        ({"agent_host": "10.0.0.1", "agent_name": "https://kedge.example"}, "without scheme and port"),
        ({"agent_host": "10.0.0.1", "agent_name": "kedge.example:8443"}, "without scheme and port"),
        ({"agent_host": "10.0.0.1", "agent_name": "0.0.0.0"}, "not a host name or address"),
        ({"agent_host": "10.0.0.1", "credential_life_s": 1}, "KEDGE_AGENTS__CREDENTIAL_LIFE_S"),
        ({"server_addresses": ("10.0.0.0/8",)}, "KEDGE_CLOUDS__SERVER_ADDRESSES.*wider than a /16"),
        ({"server_addresses": ("kedge.example",)}, "not an IPv4 address or network"),
        ({"cost_tags": ("team", "kedge-node")}, "KEDGE_CLOUDS__COST_TAGS.*Kedge's own"),
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
    assert load_settings(**given).agents.called == told


def test_every_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEDGE_PORT", "99999")
    monkeypatch.setenv("KEDGE_LEASE_TERM_S", "1")
    with pytest.raises(ServerSettingsRefused) as refused:
        load_settings(log_level="loud")
    assert [line.split(":")[0] for line in str(refused.value).splitlines()] == [
        "KEDGE_PROCESS__PORT",
        "KEDGE_PROCESS__LOG_LEVEL",
        "KEDGE_DATABASE__LEASE_TERM_S",
    ]


def test_spark_that_is_off_cannot_be_required(tmp_path: Path) -> None:
    assert not load_settings(home=tmp_path, spark_master="off").planner.uses_spark
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
    plain = {"loop.tick_interval_s", "database.lease_term_s", "process.log_level"}
    assert {name for name, field in _keys() if not field.description} == plain


def _keys() -> Iterator[tuple[str, FieldInfo]]:
    for name, field in Settings.model_fields.items():
        if name in SECTIONS:
            yield from ((f"{name}.{key}", inner) for key, inner in _kind(name).model_fields.items())
        else:
            yield name, field


def _kind(section: str) -> type[Section]:
    return type(getattr(Settings(), section))


def test_no_value_has_more_than_twenty_settings() -> None:
    kinds = (Settings, *map(_kind, SECTIONS))
    assert [kind.__name__ for kind in kinds if len(kind.model_fields) > 20] == []


SAMPLES = {
    "port": "8499",
    "names": '["kedge.example"]',
    "server_addresses": '["10.0.0.1"]',
    "cost_tags": '["team"]',
    "metrics": "true",
    "runs": "6",
}
"""What is told of keys in a variable where their default would not do."""


def _told(section: str, key: str) -> str:
    default = getattr(getattr(Settings(), section), key)
    if key in SAMPLES or default is None:
        return SAMPLES.get(key, "there.pem")
    return json.dumps(default) if isinstance(default, tuple) else str(default)


@pytest.mark.parametrize("old", sorted(NEW_NAMES))
def test_every_flat_name_of_before_is_read_as_a_variable_and_in_the_file(
    old: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    section, key = NEW_NAMES[old]
    assert key in _kind(section).model_fields
    if section in ("portal", "agents") and key in ("names", "cert", "key", "name", "host"):
        told = {"portal_host": "10.0.0.5", "portal_cert": "c.pem", "portal_key": "k.pem", "agent_host": "10.0.0.5"}
        told |= {"portal_names": '["kedge.example"]', "agent_name": "kedge.example"}
        wanted = {name: value for name, value in told.items() if name.startswith(section.rstrip("s"))}
    else:
        wanted = {old: _told(section, key)}
    if section == "process" and key == "only":
        wanted |= {"database_url": "postgresql://kedge@db/kedge", "only": "loop"}
    for name, value in wanted.items():
        monkeypatch.setenv(f"KEDGE_{name.upper()}", value)
    by_old = load_settings()
    for name, value in wanted.items():
        monkeypatch.delenv(f"KEDGE_{name.upper()}")
        monkeypatch.setenv(variable_of(*NEW_NAMES[name]), value)
    assert load_settings() == by_old


def test_an_old_name_in_the_file_is_read_and_the_log_names_the_new_one(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".kedge").mkdir()
    (tmp_path / ".kedge" / "kedge.toml").write_text("agents_soak_s = 7\n[agents]\npoll_s = 3\n")
    monkeypatch.setenv("KEDGE_PORT", "11")
    settings = load_settings()
    assert (settings.agents.soak_s, settings.agents.poll_s, settings.process.port) == (7.0, 3.0, 11)
    warn_of_old_names(settings)
    assert [record.message.split(" is called ")[0] for record in caplog.records] == [
        "the setting `agents_soak_s`",
        "the variable KEDGE_PORT",
    ]
    assert "`agents.soak_s`" in caplog.text
    assert "KEDGE_PROCESS__PORT" in caplog.text


def test_new_names_are_told_nothing_about(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEDGE_PROCESS__PORT", "11")
    warn_of_old_names(load_settings(workers=3))
    assert not caplog.records


def test_a_variable_of_a_section_beats_the_file_key_by_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".kedge").mkdir()
    (tmp_path / ".kedge" / "kedge.toml").write_text("[loop]\nworkers = 2\nmax_rolling = 3\n")
    monkeypatch.setenv("KEDGE_LOOP__WORKERS", "5")
    monkeypatch.setenv("KEDGE_WORKERS", "6")
    loop = load_settings().loop
    assert (loop.workers, loop.max_rolling) == (5, 3)


def test_a_setting_by_both_its_names_in_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".kedge").mkdir()
    (tmp_path / ".kedge" / "kedge.toml").write_text("workers = 2\n[loop]\nworkers = 3\n")
    with pytest.raises(ServerSettingsRefused, match=r"workers and loop\.workers are one setting.*remove workers"):
        load_settings()


def test_an_unknown_key_of_a_section_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / ".kedge").mkdir()
    (tmp_path / ".kedge" / "kedge.toml").write_text("[portal]\nhots = '10.0.0.1'\n")
    with pytest.raises(ServerSettingsRefused, match="KEDGE_PORTAL__HOTS"):
        load_settings()


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


def test_sinks_of_passwords_are_directories_by_names_that_specs_can_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEDGE_KAFKA__PASSWORD_SINKS", '{"apps": "file:/var/lib/kedge-passwords"}')
    assert load_settings(home=tmp_path).kafka.password_sinks == {"apps": "file:/var/lib/kedge-passwords"}
    vault = '{"apps": {"vault": "https://vault.example.com:8200", "token_file": "/etc/kedge/vault-token"}}'
    monkeypatch.setenv("KEDGE_KAFKA__PASSWORD_SINKS", vault)
    found = load_settings(home=tmp_path).kafka.password_sinks["apps"]
    assert isinstance(found, VaultBinding)
    assert (found.mount, found.secret_path("orders", "alice")) == ("secret", "kedge/orders/alice")
    for wrong, why in (('{"Apps": "file:/x"}', "a spec names it by"), ('{"apps": "s3://x"}', "password_sinks.apps")):
        monkeypatch.setenv("KEDGE_KAFKA__PASSWORD_SINKS", wrong)
        with pytest.raises(ServerSettingsRefused, match=why):
            load_settings(home=tmp_path)
