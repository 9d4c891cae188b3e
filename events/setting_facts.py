"""What was asked and what happened to the Kafka settings of a cluster that runs: part of its stream, see `facts`."""

from collections.abc import Mapping
from dataclasses import dataclass

from events.jvm import JvmChange
from events.registry import fact


@fact("settings.change_requested", schema=1)
@dataclass(frozen=True, slots=True)
class SettingsChangeRequested:
    """Every broker would take these values; they are to be set live, and services to be told the spec's.

    `live` is what Kafka is to hold, under the names it takes live. `config` is what the spec says of the settings it is
    about (None: nothing any more), `told` what a service that starts from then on is given for each (None: nothing).
    Both are empty where a value that was set by hand is put right.

    `canary` is the id of the broker that gets them first, alone, and is watched; None where all get them at once.
    `behind`: of how many of its partitions it was out of sync already.
    """

    change: str
    generation: int
    live: Mapping[str, str]
    config: Mapping[str, str | None]
    told: Mapping[str, str | None]
    reason: str
    canary: int | None = None
    behind: int = 0
    pool: str = ""
    """The pool whose brokers alone get them, each as its own, and whose services are told; "" for all."""


@fact("settings.tried", schema=1)
@dataclass(frozen=True, slots=True)
class SettingsTried:
    """The canary runs with the values: they were read back. It is watched, the others have what they had."""

    change: str


@fact("settings.canary_stood", schema=1)
@dataclass(frozen=True, slots=True)
class SettingsCanaryStood:
    """It was watched and serves as before: the values become the cluster's defaults, and its own go."""

    change: str


@fact("settings.revert_requested", schema=1)
@dataclass(frozen=True, slots=True)
class SettingsRevertRequested:
    """The canary did not stand the values: its own are to be taken back. No other broker ever had them."""

    change: str
    reason: str


@fact("settings.reverted", schema=1)
@dataclass(frozen=True, slots=True)
class SettingsReverted:
    """Nothing of the change is left on any broker. Another spec, or a person who resumes, has it tried again."""

    change: str


@fact("settings.changed", schema=1)
@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """Every broker runs with the values that were asked for: they were read back."""

    change: str


@fact("settings.refused", schema=1)
@dataclass(frozen=True, slots=True)
class SettingsRefused:
    """A broker would not take a value, in its own words (`reason`). `values` were offered, None deletes one.

    `change` is the one in hand, "" where none had begun: then nothing was applied.
    """

    change: str
    generation: int
    broker: int
    values: Mapping[str, str | None]
    reason: str


@fact("restart.requested", schema=1)
@dataclass(frozen=True, slots=True)
class RestartRequested:
    """One service is to be started anew where it is, as its `start`-th, with these settings.

    `config` and `told` are as in `SettingsChangeRequested`. `canary`: the others of its kind wait until it was watched.
    `heap_mib` is its Java heap from then on, 0 where that stays as it is, and `jvm_options` are the spec's options of
    its JVM, None where these stay.
    """

    key: str
    generation: int
    start: int
    config: Mapping[str, str | None]
    told: Mapping[str, str | None]
    canary: bool
    reason: str
    heap_mib: int = 0
    beside: tuple[str, ...] = ()
    """Keys of the brokers of its rack that are started anew at the same time, because it was proved safe for all."""
    service: str = ""
    """Which of the services on that VM: "" is what the VM was made for, `zookeeper` the server beside a broker."""
    jvm_options: tuple[str, ...] | None = None
    security: str = ""
    """What is new to it of listeners and authorization, in words; "" where nothing is. It has those of the spec in
    force then."""

    @property
    def jvm(self) -> JvmChange:
        return JvmChange(self.heap_mib, self.jvm_options)


@fact("restart.completed", schema=1)
@dataclass(frozen=True, slots=True)
class RestartCompleted:
    """It serves again: a broker is back in every ISR it belongs to, a controller follows the quorum."""

    key: str


@fact("restart.revert_requested", schema=1)
@dataclass(frozen=True, slots=True)
class RestartRevertRequested:
    """It did not come back, or fell while it was watched: it gets the settings it had before, by another start.

    Nothing else is restarted for this generation until a person resumes, or another spec is applied.
    """

    key: str
    start: int
    reason: str
    service: str = ""
    """As in `RestartRequested`."""


@fact("restart.reverted", schema=1)
@dataclass(frozen=True, slots=True)
class RestartReverted:
    """It serves again, with the settings it had before; or no start brings it back, and it gets a new VM."""

    key: str
    given_up: bool = False
    """Its VM is to be replaced: what was in the way of it is no reason against the restart of others."""
