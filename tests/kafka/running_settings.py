"""What a running broker says of its settings, and what of them it takes live."""

from dataclasses import dataclass

from kafka.protocol.admin import IncrementalAlterConfigsRequest

from controlplane.kafka.configs import apply_changes
from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import Connection
from controlplane.kafka.settings_live import (
    RunningSetting,
    SettingSource,
    read_running,
    refusal_words,
    step_refusals,
    validation,
)
from controlplane.kafka.throttle import CLUSTER_DEFAULT, ConfigChange
from events.spec.setting_table import Setting, UpdateMode, settings_of
from planner.rollout.live_step import LiveStep
from tests.waiting import until

BROKER = 1000
SOME_VALUE = {
    "ssl.engine.factory.class": "org.apache.kafka.common.security.ssl.DefaultSslEngineFactory",
    **dict.fromkeys(("log.flush.interval.ms", "log.retention.ms", "log.roll.jitter.ms", "log.roll.ms"), "86400000"),
}
"""A value Kafka would take, for settings that have neither a value nor a default."""

ONLY_UNDER_A_LISTENER = "can be dynamically updated only per-listener"
ONLY_FOR_THE_CLUSTER = "Broker-level min.insync.replicas cannot be altered while ELR is enabled"


@dataclass(frozen=True)
class Live:
    """A running broker, and what it says of its settings."""

    version: str
    connection: Connection
    running: dict[str, RunningSetting]

    def refusal(self, name: str, value: str) -> str | None:
        """What the first broker says to a default of the cluster."""
        return step_refusals(self.connection, LiveStep({name: value}), (BROKER,), timeout_s=8)[BROKER]

    def own_refusal(self, name: str, value: str | None) -> str | None:
        """What the broker says to it as a value of its own."""
        request = validation({name: value}, BROKER)
        what = f"checking live settings of broker {BROKER}"
        return refusal_words(self.connection.ask(request, what=what, deadline=Deadline.after(8), node=BROKER))

    def set(self, name: str, value: str | None) -> None:
        change = ConfigChange("broker", str(CLUSTER_DEFAULT), name, value)
        apply_changes(self.connection, [change], Deadline.after(8))

    def set_by(self, broker: int, name: str, value: str) -> None:
        """The cluster's default, by way of one broker: it alone judges the value."""
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource
        entry = resource.AlterableConfig(name=name, config_operation=0, value=value)
        request = IncrementalAlterConfigsRequest(
            validate_only=False, resources=[resource(resource_type=4, resource_name="", configs=[entry])]
        )
        answer = self.connection.ask(request, what="setting", deadline=Deadline.after(8), node=broker)
        assert [r.error_code for r in answer.responses] == [0]

    def now(self, name: str, *, broker: int = BROKER) -> tuple[str | None, SettingSource]:
        found = read_running(self.connection, broker, Deadline.after(8))[name]
        return found.value, found.source

    def await_value(self, name: str, value: str, source: SettingSource, *, broker: int = BROKER) -> None:
        until(lambda: self.now(name, broker=broker) == (value, source), f"{name} to be {value} on {broker}")


def running_values(live: Live) -> dict[str, tuple[str, bool, bool]]:
    """By name: type, whether it is sensitive, whether it is read only, by the broker's word."""
    return {n: (r.type, r.is_sensitive, r.is_read_only) for n, r in live.running.items()}


def tabled(version: str) -> dict[str, tuple[str, bool, bool]]:
    """The same by our table."""
    table = settings_of(version)
    return {n: (s.type, s.is_sensitive, s.update_mode is UpdateMode.READ_ONLY) for n, s in table.items()}


def left_alone(live: Live) -> dict[str, str | None]:
    """Values of what nobody has set: Kafka's own defaults."""
    return {n: r.value for n, r in live.running.items() if r.source is SettingSource.KAFKA_DEFAULT}


def by_its_mode(setting: Setting, *, elr: bool = True) -> tuple[bool, bool]:
    """(as the cluster's default, as the broker's own) as the table says, but for two rules of Kafka beside it.

    `elr`: eligible leader replicas are on, as in KRaft mode.
    """
    if elr and setting.name == "min.insync.replicas":
        return True, False
    security = setting.name.startswith("ssl.") and setting.name.split(".")[1] in ("key", "keystore", "truststore")
    if security and setting.update_mode is UpdateMode.PER_BROKER:
        return False, False
    mode = setting.update_mode
    return mode is UpdateMode.CLUSTER_WIDE, mode is not UpdateMode.READ_ONLY


def taken_live(live: Live, setting: Setting) -> tuple[bool, bool]:
    value = live.running[setting.name].value
    offered = SOME_VALUE.get(setting.name, "x") if value is None else value
    words = (live.refusal(setting.name, offered), live.own_refusal(setting.name, offered))
    _expected_words(setting, words)
    return words[0] is None, words[1] is None


def _expected_words(setting: Setting, words: tuple[str | None, str | None]) -> None:
    """A refusal has to be about how the setting changes: a value Kafka finds wrong would prove nothing."""
    reasons = ("Cannot update these configs", ONLY_UNDER_A_LISTENER, ONLY_FOR_THE_CLUSTER)
    assert all(word is None or any(reason in word for reason in reasons) for word in words), (setting.name, words)
