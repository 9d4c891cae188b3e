"""What is changed on running services, and how far: settings told live, restarts, canaries, replacements asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from controlplane.cluster.views.client_quotas import ClientQuotasView
from controlplane.cluster.views.producer_quota import ProducerQuotaView
from controlplane.cluster.views.security import SecurityView
from events.jvm import AS_BEFORE, JvmChange
from events.spec.client_security import ClientSecurity


class SettingStage(StrEnum):
    """How far a change of live settings has come."""

    CANARY = "canary"
    """One broker gets the values, as its own."""
    WATCH = "watch"
    """It has them, and is watched."""
    ALL = "all"
    """They become the cluster's defaults; what the canary has of its own goes."""
    REVERT = "revert"
    """What the canary has of its own is taken back."""


@dataclass(frozen=True, slots=True)
class SettingChangeView:
    """The change of live settings in hand, as it was asked for, and how far it has come since `since`.

    `tried`: brokers, by id, that may have values of their own from it, or from one that gave way to it. `before` are
    the live values it replaced, by name, None for none: what holds again after a revert. `reverting` says why.
    """

    id: str
    generation: int
    live: Mapping[str, str]
    config: Mapping[str, str | None]
    applied: Mapping[str, str | None]
    requested_at: datetime
    canary: int | None = None
    behind: int = 0
    stage: SettingStage = SettingStage.ALL
    since: datetime | None = None
    tried: tuple[int, ...] = ()
    before: Mapping[str, str | None] = field(default_factory=dict)
    reverting: str = ""
    pool: str = ""
    """As in `SettingsChangeRequested`; `before` are then values its brokers hold as their own."""


@dataclass(frozen=True, slots=True)
class Before:
    """What an instance was told before a restart: what it gets back if that goes wrong."""

    config: Mapping[str, str] | None
    settings: Mapping[str, str] | None
    jvm: JvmChange = AS_BEFORE
    security: ClientSecurity | None = None
    tls_step: str | None = None
    """As `StartView.tls_step`."""
    least_rights: bool = False
    """As `StartView.least_rights`."""


@dataclass(frozen=True, slots=True)
class RestartView:
    """The restart in hand. `reverting` says why it gets its old settings back, "" while it is to run with the new."""

    key: str
    generation: int
    since: datetime
    canary: bool
    before: Before
    reverting: str = ""
    new_settings: bool = True
    """Whether it has, or had, others than before: it has none where a person asked for the restart."""
    service: str = ""
    """Which of the services on that VM, as in `RestartRequested`."""


@dataclass(frozen=True, slots=True)
class CanaryView:
    """The first service of its kind that was restarted for a generation, and since when it has served."""

    key: str
    generation: int
    since: datetime
    before: Before


@dataclass(frozen=True, slots=True)
class RollingRestartView:
    """The rolling restart a person asked for, or that certificates ask for. `left` are those of `keys` that were not
    started anew for it yet; both are `InstanceView.service_key`s. `at_once`: it waits for no window and no freeze."""

    id: str
    keys: tuple[str, ...]
    left: tuple[str, ...]
    reason: str
    requested_at: datetime
    for_certificates: bool = False
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class ReplaceView:
    """A person wants this VM replaced: who and why, and whether its disk is to go too, or which of its disks alone."""

    reason: str
    new_disk: bool
    requested_at: datetime
    disks: tuple[str, ...] = ()
    mends: bool = False
    """It is no better than a VM that is gone: it took over the disks of one, and does not serve from them."""


@dataclass(frozen=True, slots=True)
class SettingRefusal:
    """What a broker would not take, in its words, or did not stand (`reverted`): then `names` are the settings of the
    spec that stay as they were. It stands until another spec, or until a person resumes."""

    broker: int
    values: Mapping[str, str | None]
    reason: str
    reverted: bool = False
    names: tuple[str, ...] = ()
    pool: str = ""
    """Whose services alone these are of, "" for all."""


@dataclass(frozen=True, slots=True)
class SettingsView:
    """What running services have been told, and the restarts that tell them."""

    live: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Settings that were ever set live, and what Kafka holds of them; a live value wins over every file."""
    of_pools: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    """The same of brokers of single pools, by pool, which hold them as their own."""
    change: SettingChangeView | None = None
    producer_quota: ProducerQuotaView | None = None
    """Kedge's, while a disk is nearly full and the spec has producers slowed for it."""
    client_quotas: ClientQuotasView = field(default_factory=ClientQuotasView)
    """Those that specs declare."""
    changes: int = 0
    """Changes of settings begun, ever."""
    refusal: SettingRefusal | None = None
    restarts: Mapping[str, RestartView] = field(default_factory=lambda: MappingProxyType({}))
    """Those in hand, by instance key: one, or several brokers of one rack."""
    canaries: Mapping[str, CanaryView] = field(default_factory=lambda: MappingProxyType({}))
    """By service, of the last generation that restarted any."""
    restart_refusal: tuple[str, str] | None = None
    """Who did not stand its restart, and why: no other is restarted until another spec, or until a person resumes."""
    orders: Mapping[str, datetime] = field(default_factory=lambda: MappingProxyType({}))
    """When a stop or another start of a service was found safe last, by `InstanceView.service_key`: see `orderfold`."""
    security: SecurityView | None = None
    """How far it is between plaintext and TLS; None while every spec has said what it was born with."""
    least_rights: bool = False
    """Whether what is started from here on has Kedge's server among its super users no more."""
