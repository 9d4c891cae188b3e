"""Settings of one `kedge server`: environment (`KEDGE_...`) over a TOML file over defaults."""

import os
import re
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from controlplane.api.audit.binding import AuditTopicBinding
from controlplane.api.oidc.binding import OidcBinding
from controlplane.background.consumer_groups.watch import WatchGroups
from controlplane.background.dns.binding import ZoneBinding
from controlplane.background.git_sync.binding import GitBinding, is_under
from controlplane.background.notifications.binding import NotifierBinding
from controlplane.converger.situation.cure_budget import MAX_CURES_PER_DAY
from controlplane.converger.situation.situation import LOSS_GRACE_S
from controlplane.converger.tick.fleet_brake import MAX_ROLLING, MAX_SURGE_PER_ACCOUNT
from controlplane.fleet.freezes.settings import FreezeBinding
from controlplane.fleet.networks.server_addresses import server_network
from controlplane.fleet.networks.settings import NetworkSettings
from controlplane.runtime.egress import Allowed, Egress
from controlplane.runtime.loopback import is_loopback
from controlplane.storage.terraform_states.versions import FEWEST_STATE_VERSIONS
from events.secrets import remember
from providers.cost_tags import list_problem
from providers.tf.mirror import ProviderMirror

LONGEST_CALL_S = 10.0
"""No call to a broker or a cloud lasts longer; a lease term is at least three of them."""


CONFIG_FILE = "kedge.toml"

_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?", re.ASCII)


class ServerSettingsRefused(ValueError):
    """A setting is missing or has no sense. What now: give up; a person changes it."""


class Settings(BaseSettings):
    """Where things are and how often they are done. Times in seconds. Made by `load_settings`."""

    model_config = SettingsConfigDict(env_prefix="KEDGE_", extra="forbid", frozen=True)

    home: Path = Field(default=Path(".kedge"), description="state, keys, the default database, the `local` cloud")
    database_url: SecretStr = Field(
        default=SecretStr(""), description="`sqlite:///FILE` or `postgresql://...`; empty: SQLite in home"
    )
    only: Literal["", "loop", "portal", "relay"] = Field(
        default="", description="`loop`, `portal` or `relay`: that part alone, as a process of its own, on PostgreSQL"
    )
    host: str = Field(default="127.0.0.1", description="a loopback address: plain HTTP is spoken on no other")
    port: int = Field(default=8428, ge=0, le=65535, description="0 lets the system choose")
    agent_host: str = Field(
        default="", description="an address of this machine to serve agents of VMs elsewhere at, over TLS"
    )
    agent_port: int = Field(default=8443, ge=0, le=65535, description="the port for it; 0 lets the system choose")
    agent_name: str = Field(
        default="", description="host name or address VMs are told and the certificate names; empty: agent_host"
    )
    server_addresses: tuple[str, ...] = Field(
        default=(),
        description="where servers dial brokers from, addresses or networks: firewalls let them in; empty: found",
    )
    cost_tags: tuple[str, ...] = Field(
        default=(),
        description="labels of specs, by key, that are put as cost tags on what is made in clouds; empty: none",
    )
    portal_host: str = Field(
        default="", description="an address of this machine to serve the portal and the API at, over TLS"
    )
    portal_port: int = Field(default=8444, ge=1, le=65535, description="the port for it")
    portal_names: tuple[str, ...] = Field(
        default=(), description="what people call it there, `NAME` or `NAME:PORT`: every other `Host` is refused"
    )
    portal_cert: Path | None = Field(
        default=None, description="its certificate with the chain, PEM; read again when the file changes"
    )
    portal_key: Path | None = Field(default=None, description="the key that goes with it, PEM")
    oidc: OidcBinding | None = Field(default=None, description="the provider people may sign in by, `[oidc]`")
    credential_life_s: float = Field(
        default=7 * 86_400.0, ge=10, le=365 * 86_400, description="age at which agents rotate their credential"
    )
    kafka_dir: Path = Field(default=Path(".cache/kafka"), description="Kafka images: <version>/libs/*.jar")
    terraform_modules: Path | None = Field(default=None, description="one folder per cloud; default: those shipped")
    terraform_mirror: str = Field(
        default="", description="folder, or https URL, that providers come from and nowhere else; empty: the registry"
    )
    terraform_state: Literal["local", "http"] = Field(
        default="local", description="`local`: files of the home; `http`: in the database, served by Kedge to Terraform"
    )
    terraform_state_versions: int = Field(
        default=50, ge=FEWEST_STATE_VERSIONS, le=10_000, description="with `http`: versions of each state that are kept"
    )
    tick_interval_s: float = Field(default=0.5, gt=0, le=60)
    rest_s: float = Field(default=5.0, ge=0, le=60, description="between two looks at a cluster without work")
    loss_grace_s: float = Field(
        default=LOSS_GRACE_S, ge=0, le=86_400, description="how long a VM may be gone before it is replaced"
    )
    lease_term_s: float = Field(default=3 * LONGEST_CALL_S, ge=3 * LONGEST_CALL_S, le=600)
    workers: int = Field(default=4, ge=1, le=64, description="threads that tick clusters with work in hand")
    terraform_threads: int = Field(default=4, ge=1, le=64)
    max_rolling: int = Field(default=MAX_ROLLING, ge=1, description="clusters that may roll at a time")
    max_surge_per_account: int = Field(
        default=MAX_SURGE_PER_ACCOUNT, ge=1, description="VMs beyond one per node, all clusters of an account together"
    )
    max_cures_per_day: int = Field(
        default=MAX_CURES_PER_DAY, ge=1, description="cures all clusters together begin in 24 h, then a person looks"
    )
    spark_master: str = Field(
        default="local[*]", description="`local[*]`, a standalone/YARN/Kubernetes master, `sc://`; `off`: no Spark"
    )
    require_spark: bool = Field(default=False, description="refuse to plan in-process while Spark is away")
    metrics: bool = Field(
        default=False, description="agents measure brokers and send it to the topic `__kedge_metrics` of their cluster"
    )
    logs: bool = Field(
        default=False, description="agents send lines of logs to the topic `__kedge_logs` of their cluster"
    )
    metrics_lake: str = Field(
        default="", description="path or URL of the metric lake: plans take write rates from it; empty: from logs alone"
    )
    enforce_disk: bool = Field(default=False, description="`local` cloud, root only: disks of their true size")
    vm_network: Literal["loopback", "namespaces"] = Field(
        default="loopback", description="`local` cloud: `namespaces` gives each VM a network that can be split; as root"
    )
    git: tuple[GitBinding, ...] = Field(default=(), description="repositories that declare clusters, `[[git]]` each")
    git_local_paths: tuple[Path, ...] = Field(default=(), description="folders whose repositories may be bound by path")
    dns: tuple[ZoneBinding, ...] = Field(default=(), description="zones names of clusters are kept in, `[[dns]]` each")
    dns_poll_s: float = Field(default=10.0, ge=0.1, le=3600, description="seconds between two looks at the names")
    watch_groups: WatchGroups = Field(
        default="asked",
        description="consumer groups looked at again: `asked` (for 15 min after a person asked), `always`, `off`",
    )
    groups_poll_s: float = Field(default=60.0, ge=1, le=3600, description="seconds between two looks at groups")
    audits_at_once: int = Field(
        default=2, ge=0, le=32, description="audits of clouds for changes by hand that run together; `0`: none is made"
    )
    audit_every_s: float = Field(default=86_400.0, ge=600, le=2_592_000, description="seconds between two of a cluster")
    audit_poll_s: float = Field(default=10.0, ge=1, le=3600, description="seconds between two looks for audits due")
    anomalies_poll_s: float = Field(default=10.0, ge=1, le=600, description="between two looks for anomalies")
    slow_window_s: int = Field(
        default=300, description="width of the metric windows slow brokers are found by: 60 or 300"
    )
    notifiers: tuple[NotifierBinding, ...] = Field(
        default=(), description="where anomalies are told to, `[[notifiers]]` each"
    )
    audit_topic: AuditTopicBinding | None = Field(
        default=None, description="the Kafka topic each entry of the audit is written to as well, `[audit_topic]`"
    )
    networks: NetworkSettings = Field(
        default=NetworkSettings(), description="where networks Kedge makes get their addresses, `[networks]`"
    )
    freezes: tuple[FreezeBinding, ...] = Field(
        default=(), description="times in which nothing voluntary begins, `[[freezes]]` each"
    )
    agents_soak_s: float = Field(
        default=600.0, ge=0, le=604_800, description="agents' upgrade: how long the first VM and each stage are watched"
    )
    agents_poll_s: float = Field(default=5.0, ge=0.1, le=600, description="seconds between two looks at agents")
    agent_signing_key: Path | None = Field(
        default=None, description="Ed25519 key agents are signed by, PEM; empty: one that follows from `server-key`"
    )
    egress_allow: tuple[str, ...] = Field(
        default=(),
        description="hosts (`*.DOMAIN` too) and networks the server may call; empty: what the settings name",
    )
    external_allow: tuple[str, ...] = Field(
        default=(),
        description="hosts (`*.DOMAIN` too) and networks where brokers of others may be; empty: any but this machine",
    )
    query_limit_s: float = Field(
        default=10.0, ge=0.1, le=600, description="the longest the database may take for a page, a call or a search"
    )
    graceful_stop_s: float = Field(default=3.0, ge=0, le=60, description="how long open requests may go on at a stop")
    log_level: str = "INFO"
    log_format: Literal["text", "json"] = Field(default="text", description="`text` for people, `json` for machines")

    @field_validator("home", "kafka_dir", "terraform_modules")
    @classmethod
    def _absolute(cls, path: Path | None) -> Path | None:
        return None if path is None else path.expanduser().absolute()

    @field_validator("portal_cert", "portal_key", "agent_signing_key")
    @classmethod
    def _absolute_files(cls, path: Path | None) -> Path | None:
        return None if path is None else path.expanduser().absolute()

    @field_validator("terraform_mirror")
    @classmethod
    def _a_mirror(cls, told: str) -> str:
        return ProviderMirror.of(told).place if told else ""

    @field_validator("git_local_paths")
    @classmethod
    def _absolute_folders(cls, folders: tuple[Path, ...]) -> tuple[Path, ...]:
        return tuple(folder.expanduser().absolute() for folder in folders)

    @field_validator("egress_allow", "external_allow")
    @classmethod
    def _places_to_call(cls, places: tuple[str, ...]) -> tuple[str, ...]:
        for place in places:
            Allowed.of(place)
        return places

    @field_validator("server_addresses")
    @classmethod
    def _dials_from_there(cls, places: tuple[str, ...]) -> tuple[str, ...]:
        for place in places:
            server_network(place)
        return places

    @field_validator("cost_tags")
    @classmethod
    def _cost_tags(cls, keys: tuple[str, ...]) -> tuple[str, ...]:
        if problem := list_problem(keys):
            raise ValueError(problem)
        return keys

    @field_validator("log_level")
    @classmethod
    def _known_level(cls, level: str) -> str:
        if level.upper() not in ("DEBUG", "INFO", "WARNING", "ERROR"):
            raise ValueError("expected DEBUG, INFO, WARNING or ERROR")
        return level.upper()

    @model_validator(mode="after")
    def _can_plan(self) -> "Settings":
        if self.require_spark and not self.uses_spark:
            raise ValueError("require_spark is set, but spark_master is `off`: nothing could ever be planned")
        return self

    @model_validator(mode="after")
    def _listens_on_loopback(self) -> "Settings":
        if not is_loopback(self.host):
            raise ValueError(
                f"host {self.host!r} is not a loopback address. There the API of people speaks plain HTTP, which would "
                "carry tokens readable over the network: listen on 127.0.0.1. People elsewhere are served over TLS: "
                "set portal_host, portal_names, portal_cert and portal_key. So are agents of VMs elsewhere: agent_host."
            )
        return self

    @model_validator(mode="after")
    def _meets_in_a_database(self) -> "Settings":
        if self.only and not self.database.startswith("postgresql"):
            raise ValueError(
                f"only = {self.only!r} needs PostgreSQL: parts meet in the database, each by a role of its own, and "
                "whoever may write a SQLite file may write all of it. Set database_url, or run `kedge server` without "
                "--only"
            )
        return self

    @model_validator(mode="after")
    def _relays_to_a_topic(self) -> "Settings":
        if self.only == "relay" and self.audit_topic is None:
            raise ValueError("only = 'relay' needs [audit_topic]: it writes the audit there and does nothing else")
        if self.audit_topic is not None and self.audit_topic.apart and not self.database.startswith("postgresql"):
            raise ValueError(
                "audit_topic.apart leaves the audit's topic to `kedge server --only relay`, which needs PostgreSQL: "
                "set database_url, or take `apart` away, and this server writes the topic itself"
            )
        return self

    @model_validator(mode="after")
    def _agents_can_call(self) -> "Settings":
        if not self.agent_host:
            if self.agent_name:
                raise ValueError("agent_name is set, but agent_host is not: agents are served nowhere over TLS")
            return self
        try:
            address = ip_address(self.agent_host)
        except ValueError:
            raise ValueError(
                f"agent_host {self.agent_host!r} is not an IP address: name one of this machine to listen on; the "
                "name VMs call goes into agent_name"
            ) from None
        if address.is_unspecified and not self.agent_name:
            raise ValueError(
                f"agent_host {self.agent_host} is every address of this machine: say in agent_name which one, or "
                "which host name, VMs call"
            )
        if self.agent_name and not _is_host(self.agent_name):
            raise ValueError(
                f"agent_name {self.agent_name!r} is not a host name or address: give it without scheme and port, as in "
                "kedge.example.com"
            )
        return self

    @model_validator(mode="after")
    def _people_are_served_over_tls(self) -> "Settings":
        beside = {"portal_names": self.portal_names, "portal_cert": self.portal_cert, "portal_key": self.portal_key}
        if not self.portal_host:
            if any(beside.values()):
                lone = ", ".join(name for name, value in beside.items() if value)
                raise ValueError(f"{lone} is set, but portal_host is not: people are served on loopback only")
            return self
        try:
            ip_address(self.portal_host)
        except ValueError:
            raise ValueError(
                f"portal_host {self.portal_host!r} is not an IP address: name one of this machine to listen on; the "
                "names people call go into portal_names"
            ) from None
        missing = ", ".join(name for name, value in beside.items() if not value)
        if missing:
            raise ValueError(
                f"portal_host is set, but {missing} is not. Off loopback people are served over TLS only, by a "
                "certificate of yours, and only under the names they call: a page of another site could else reach it "
                "by a name of its own"
            )
        for name in self.portal_names:
            host, colon, port = name.rpartition(":") if not name.endswith("]") else (name, "", "")
            host = host if colon and port.isdigit() else name
            if not _is_host(host.strip("[]")):
                raise ValueError(f"portal_names has {name!r}: write a host name or address, and its port if it has one")
        return self

    @field_validator("slow_window_s")
    @classmethod
    def _a_width_of_the_lake(cls, width_s: int) -> int:
        if width_s not in (60, 300):
            raise ValueError("expected 60 or 300: the lake has no other windows that are short enough")
        return width_s

    @field_validator("notifiers")
    @classmethod
    def _notifiers_once(cls, notifiers: tuple[NotifierBinding, ...]) -> tuple[NotifierBinding, ...]:
        names = [binding.name for binding in notifiers]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"there are two notifiers called {', '.join(twice)}: each needs a name of its own")
        return notifiers

    @field_validator("dns")
    @classmethod
    def _zones_once(cls, zones: tuple[ZoneBinding, ...]) -> tuple[ZoneBinding, ...]:
        names = [binding.zone for binding in zones]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"the zone {', '.join(twice)} is bound twice: it could not be told which way is meant")
        return zones

    @model_validator(mode="after")
    def _binds_what_is_allowed(self) -> "Settings":
        names = [binding.name for binding in self.git]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two git bindings are called {', '.join(twice)}: their clusters could not be told apart")
        for binding in self.git:
            if binding.transport == "file" and not is_under(binding.repository, self.git_local_paths):
                raise ValueError(
                    f"the git binding {binding.name} names {binding.repository}, which lies in no folder of "
                    "git_local_paths: list its folder there"
                )
        return self

    @property
    def told_agent_host(self) -> str:
        """What VMs call and the certificate names, where agents are served over TLS."""
        return self.agent_name or self.agent_host

    @cached_property
    def brokers_allowed(self) -> tuple[Allowed, ...]:
        """Where brokers that others run may be."""
        return tuple(Allowed.of(place) for place in self.external_allow)

    @property
    def egress(self) -> Egress:
        """Where the server may call."""
        return Egress(tuple(Allowed.of(place) for place in self.egress_allow))

    @property
    def provider_mirror(self) -> ProviderMirror | None:
        """Where Terraform's providers come from; None where its registry may be asked."""
        return ProviderMirror(self.terraform_mirror) if self.terraform_mirror else None

    @property
    def uses_spark(self) -> bool:
        """Whether drain plans go to Spark at all."""
        return self.spark_master != "off"

    @cached_property
    def database(self) -> str:
        """The URL of the database in use, with its password: it is for the driver alone."""
        url = self.database_url.get_secret_value()
        remember(unquote(urlsplit(url).password or ""))
        return url or f"sqlite:///{self.home / 'kedge.db'}"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments over environment over file."""
        file = _config_file(init_settings().get("home"))
        return (init_settings, env_settings, TomlConfigSettingsSource(settings_cls, file))


def load_settings(**given: object) -> Settings:
    """The settings in force; `given` (command line) beats the environment, which beats the file.

    The file is `$KEDGE_CONFIG`, else `kedge.toml` in the home directory if there is one. Raises SettingsRefused naming
    every setting that is wrong, with its value's problem.
    """
    known = {name: value for name, value in given.items() if value is not None}
    try:
        return Settings(**known)  # type: ignore[arg-type]  # pydantic judges them
    except ValidationError as error:
        raise ServerSettingsRefused("\n".join(_told(error))) from error
    except (OSError, ValueError) as error:
        raise ServerSettingsRefused(f"the settings file cannot be read: {error}") from error


def _is_host(text: str) -> bool:
    try:
        return not ip_address(text).is_unspecified
    except ValueError:
        return len(text) <= 253 and all(_LABEL.fullmatch(label) for label in text.split("."))


def _config_file(home: object) -> Path:
    named = os.environ.get("KEDGE_CONFIG")
    return Path(named) if named else Path(str(home or os.environ.get("KEDGE_HOME", ".kedge"))) / CONFIG_FILE


def _told(error: ValidationError) -> list[str]:
    lines = []
    for problem in error.errors(include_url=False, include_context=False):
        name = ".".join(str(step) for step in problem["loc"])
        variable = f"KEDGE_{name.upper()}" if name else "settings"
        lines.append(f"{variable}: {problem['msg'].removeprefix('Value error, ')}")
    return lines
