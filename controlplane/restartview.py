"""What is changed on running services, and how far: settings told live, restarts, canaries, replacements asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class SettingChangeView:
    """The change of live settings in hand, as it was asked for."""

    id: str
    generation: int
    live: Mapping[str, str]
    config: Mapping[str, str | None]
    told: Mapping[str, str | None]
    requested_at: datetime


@dataclass(frozen=True, slots=True)
class Before:
    """What an instance was told before a restart: what it gets back if that goes wrong."""

    config: Mapping[str, str] | None
    told: Mapping[str, str] | None
    told_heap_mib: int = 0


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


@dataclass(frozen=True, slots=True)
class CanaryView:
    """The first service of its kind that was restarted for a generation, and since when it has served."""

    key: str
    generation: int
    since: datetime
    before: Before


@dataclass(frozen=True, slots=True)
class RollingRestartView:
    """The rolling restart a person asked for. `left` are those of `keys` that were not started anew for it yet."""

    id: str
    keys: tuple[str, ...]
    left: tuple[str, ...]
    reason: str
    requested_at: datetime


@dataclass(frozen=True, slots=True)
class ReplaceView:
    """A person wants this VM replaced: who and why, and whether its disk is to go too, or which of its disks alone."""

    reason: str
    new_disk: bool
    requested_at: datetime
    disks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SettingRefusal:
    """What a broker would not take, in its words. It stands until another spec, or until a person resumes."""

    broker: int
    values: Mapping[str, str | None]
    reason: str
