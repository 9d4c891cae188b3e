"""Settings of one `kedge server`: environment (`KEDGE_...`) over a TOML file over defaults, in sections."""

import logging
import os
import tomllib
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from controlplane.api.audit.binding import AuditTopicBinding
from controlplane.api.oidc.binding import OidcBinding
from controlplane.background.dns.binding import ZoneBinding
from controlplane.background.git_sync.binding import GitBinding, is_under
from controlplane.background.notifications.binding import NotifierBinding
from controlplane.fleet.freezes.settings import FreezeBinding
from controlplane.fleet.networks.settings import NetworkSettings
from controlplane.server.sections import old_names
from controlplane.server.sections.agents import AgentsSection
from controlplane.server.sections.allow import AllowSection
from controlplane.server.sections.clouds import CloudsSection
from controlplane.server.sections.database import DatabaseSection
from controlplane.server.sections.kafka import KafkaSection
from controlplane.server.sections.loop import LoopSection
from controlplane.server.sections.planner import PlannerSection
from controlplane.server.sections.portal import PortalSection
from controlplane.server.sections.process import ProcessSection
from controlplane.server.sections.section import absolute
from controlplane.server.sections.telemetry import TelemetrySection
from controlplane.server.sections.terraform import TerraformSection
from events.secrets import remember

CONFIG_FILE = "kedge.toml"

_log = logging.getLogger(__name__)


class ServerSettingsRefused(ValueError):
    """A setting is missing or has no sense. What now: give up; a person changes it."""


class Settings(BaseSettings):
    """Where things are and how often they are done, a section a room. Made by `load_settings`."""

    model_config = SettingsConfigDict(
        env_prefix=old_names.PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True
    )

    home: Path = Field(default=Path(".kedge"), description="state, keys, the default database, the `local` cloud")
    process: ProcessSection = Field(default_factory=ProcessSection)
    database: DatabaseSection = Field(default_factory=DatabaseSection)
    portal: PortalSection = Field(default_factory=PortalSection)
    oidc: OidcBinding | None = Field(default=None, description="the provider people may sign in by, `[oidc]`")
    agents: AgentsSection = Field(default_factory=AgentsSection)
    kafka: KafkaSection = Field(default_factory=KafkaSection)
    terraform: TerraformSection = Field(default_factory=TerraformSection)
    clouds: CloudsSection = Field(default_factory=CloudsSection)
    networks: NetworkSettings = Field(
        default=NetworkSettings(), description="where networks Kedge makes get their addresses, `[networks]`"
    )
    loop: LoopSection = Field(default_factory=LoopSection)
    planner: PlannerSection = Field(default_factory=PlannerSection)
    telemetry: TelemetrySection = Field(default_factory=TelemetrySection)
    allow: AllowSection = Field(default_factory=AllowSection)
    git: tuple[GitBinding, ...] = Field(default=(), description="repositories that declare clusters, `[[git]]` each")
    dns: tuple[ZoneBinding, ...] = Field(default=(), description="zones names of clusters are kept in, `[[dns]]` each")
    notifiers: tuple[NotifierBinding, ...] = Field(
        default=(), description="who is notified of anomalies and proposals, `[[notifiers]]` each"
    )
    audit_topic: AuditTopicBinding | None = Field(
        default=None, description="the Kafka topic each entry of the audit is written to as well, `[audit_topic]`"
    )
    freezes: tuple[FreezeBinding, ...] = Field(
        default=(), description="times in which nothing voluntary begins, `[[freezes]]` each"
    )

    @field_validator("home")
    @classmethod
    def _absolute(cls, path: Path) -> Path:
        return absolute(path)

    @field_validator("notifiers")
    @classmethod
    def _notifiers_once(cls, notifiers: tuple[NotifierBinding, ...]) -> tuple[NotifierBinding, ...]:
        twice = _twice([binding.name for binding in notifiers])
        if twice:
            raise ValueError(f"there are two notifiers called {twice}: each needs a name of its own")
        return notifiers

    @field_validator("dns")
    @classmethod
    def _zones_once(cls, zones: tuple[ZoneBinding, ...]) -> tuple[ZoneBinding, ...]:
        twice = _twice([binding.zone for binding in zones])
        if twice:
            raise ValueError(f"the zone {twice} is bound twice: it could not be told which way is meant")
        return zones

    @model_validator(mode="after")
    def _meets_in_a_database(self) -> "Settings":
        only = self.process.only
        if only and not self.database_url.startswith("postgresql"):
            raise ValueError(
                f"only = {only!r} needs PostgreSQL: parts meet in the database, each by a role of its own, and "
                "whoever may write a SQLite file may write all of it. Set database.url, or run `kedge server` without "
                "--only"
            )
        return self

    @model_validator(mode="after")
    def _agents_have_somewhere_to_call(self) -> "Settings":
        if self.process.only == "agents" and not self.agents.host:
            raise ValueError(
                "only = 'agents' needs agents.host: the address of this machine to serve agents of VMs at, over TLS"
            )
        if self.agents.apart and not self.database_url.startswith("postgresql"):
            raise ValueError(
                "agents.apart leaves agents to `kedge server --only agents`, which needs PostgreSQL: set database.url, "
                "or take `apart` away, and this server serves them itself"
            )
        return self

    @model_validator(mode="after")
    def _relays_to_a_topic(self) -> "Settings":
        if self.process.only == "relay" and self.audit_topic is None:
            raise ValueError("only = 'relay' needs [audit_topic]: it writes the audit there and does nothing else")
        if self.audit_topic is not None and self.audit_topic.apart and not self.database_url.startswith("postgresql"):
            raise ValueError(
                "audit_topic.apart leaves the audit's topic to `kedge server --only relay`, which needs PostgreSQL: "
                "set database.url, or take `apart` away, and this server writes the topic itself"
            )
        return self

    @model_validator(mode="after")
    def _binds_what_is_allowed(self) -> "Settings":
        twice = _twice([binding.name for binding in self.git])
        if twice:
            raise ValueError(f"two git bindings are called {twice}: their clusters could not be told apart")
        for binding in self.git:
            if binding.transport == "file" and not is_under(binding.repository, self.allow.git_paths):
                raise ValueError(
                    f"the git binding {binding.name} names {binding.repository}, which lies in no folder of "
                    "allow.git_paths: list its folder there"
                )
        return self

    @cached_property
    def database_url(self) -> str:
        """The URL of the database in use, with its password: it is for the driver alone."""
        url = self.database.url.get_secret_value()
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
        given = init_settings()
        return (
            InitSettingsSource(settings_cls, old_names.in_sections(given)),
            env_settings,
            _ReadSource(settings_cls, old_names.old_variables()),
            _ReadSource(settings_cls, old_names.in_sections(_in_file(_config_file(given.get("home"))))),
        )


class _ReadSource(PydanticBaseSettingsSource):
    """Values that were read already."""

    def __init__(self, settings_cls: type[BaseSettings], values: dict[str, Any]) -> None:
        super().__init__(settings_cls)
        self._all = values

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        return self._all.get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        """All of them, those nobody knows too: they are refused by name."""
        return self._all


def load_settings(**given: object) -> Settings:
    """The settings in force; `given` (command line) beats the environment, which beats the file.

    The file is `$KEDGE_CONFIG`, else `kedge.toml` in the home directory if there is one. Raises ServerSettingsRefused
    naming every setting that is wrong, with its value's problem.
    """
    known = {name: value for name, value in given.items() if value is not None}
    try:
        return Settings(**known)  # type: ignore[arg-type]  # pydantic judges them
    except ValidationError as error:
        raise ServerSettingsRefused("\n".join(_problems(error))) from error
    except old_names.NamedTwice as error:
        raise ServerSettingsRefused(str(error)) from error
    except (OSError, ValueError) as error:
        raise ServerSettingsRefused(f"the settings file cannot be read: {error}") from error


def warn_of_old_names(settings: Settings) -> None:
    """A line of the log for each setting that stands there by its flat name of before. Raises OSError."""
    for sentence in old_names.old_names_among(_in_file(_config_file(settings.home))):
        _log.warning("%s. The old name is read for one era more", sentence)


def _twice(names: list[str]) -> str:
    return ", ".join(sorted({name for name in names if names.count(name) > 1}))


def _in_file(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}


def _config_file(home: object) -> Path:
    named = os.environ.get("KEDGE_CONFIG")
    return Path(named) if named else Path(str(home or os.environ.get("KEDGE_HOME", ".kedge"))) / CONFIG_FILE


def _problems(error: ValidationError) -> list[str]:
    lines = []
    for problem in error.errors(include_url=False, include_context=False):
        where = [str(step) for step in problem["loc"]]
        is_section = bool(where) and where[0] in old_names.SECTIONS
        if is_section and len(where) > 1:
            name = old_names.variable_of(where[0], ".".join(where[1:]))
        elif is_section:
            name = f"[{where[0]}]"
        else:
            name = f"{old_names.PREFIX}{'.'.join(where).upper()}" if where else "settings"
        lines.append(f"{name}: {problem['msg'].removeprefix('Value error, ')}")
    return lines
