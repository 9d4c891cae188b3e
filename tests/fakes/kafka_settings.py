"""The settings of the fake's brokers: each has a file it was started with, the cluster has live defaults, and a broker
may have live values of its own. What it takes live, and what it says, is as measured (`tests/kafka`)."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from controlplane.kafka.errors import KafkaRefused
from events.spec.setting_table import Setting, UpdateMode, settings_of
from events.spec.setting_values import as_kafka_reads, unreadable_because
from planner.observed import SettingSeen, SettingsSeen
from planner.rollout.live_step import LiveStep
from planner.rollout.setting_class import HALF_TO_DOUBLE
from tests.fakes.kafka_parts import FakeBroker


@dataclass(slots=True)
class FakeSettings:
    """Everything that is set, and what brokers are made to refuse. `told` is rung when a default has changed."""

    defaults: dict[str, str]
    told: Callable[[], None]
    own: dict[int, dict[str, str]] = field(default_factory=dict)
    files: dict[int, Mapping[str, str]] = field(default_factory=dict)
    """Broker -> what it was started with."""
    refuses: dict[tuple[int, str, str], str] = field(default_factory=dict)
    """(broker, name, value) -> its words."""
    silent: set[int] = field(default_factory=set)
    """Brokers that serve and do not answer what they run with."""
    by_others: set[tuple[int, str]] = field(default_factory=set)
    """(broker, name) of what was set by hand and not put right yet."""
    by_kedge: set[tuple[int, str]] = field(default_factory=set)
    """(broker, name) of what was set on one broker alone through the gateway, and is to go again."""
    changes: list[str] = field(default_factory=list)
    """Each value that was set, in order: `num.io.threads=8`, of one broker `1001:num.io.threads=8`."""

    def running(self, brokers: Collection[FakeBroker], names: Collection[str]) -> SettingsSeen:
        seen = {
            b.id: {n: self._seen(b, n) for n in sorted(names) if n in settings_of(b.version)}
            for b in sorted(brokers, key=lambda b: b.id)
            if b.id not in self.silent
        }
        return SettingsSeen(seen, {n: v for n, v in sorted(self.defaults.items()) if n in names})

    def refusals(self, brokers: Collection[FakeBroker], step: LiveStep) -> Mapping[int, str | None]:
        return {b.id: self._refusal(b, step) for b in sorted(brokers, key=lambda b: b.id)}

    def change(self, brokers: Collection[FakeBroker], step: LiveStep) -> None:
        """One live broker judges the defaults, each its own values."""
        live = sorted(brokers, key=lambda b: b.id)
        judges = [b for b in live if b.id in step.own] or live[:1]
        for judge in judges:
            words = self._refusal(judge, step)
            if words is not None:
                raise KafkaRefused(
                    what="changing configs", where=f"broker {judge.id}", words=words, error="InvalidRequestError"
                )
        self.defaults.update(step.defaults)
        self.changes += [f"{n}={v}" for n, v in sorted(step.defaults.items())]
        for broker, values in step.own.items():
            for name, value in values.items():
                self._set_own(broker, name, value)
                self.by_others.discard((broker, name))
                self.by_kedge.discard((broker, name))
                self.by_kedge |= {(broker, name)} if value is not None else set()
                self.changes.append(f"{broker}:{name}={value}")
        self.told()

    def by_hand(self, broker: int, name: str, value: str | None) -> None:
        """Somebody sets (or deletes) a value on one broker."""
        self._set_own(broker, name, value)
        self.by_kedge.discard((broker, name))
        self.by_others.add((broker, name))

    def _set_own(self, broker: int, name: str, value: str | None) -> None:
        own = self.own.setdefault(broker, {})
        own.pop(name, None)
        if value is not None:
            own[name] = value

    def scene(self) -> object:
        """All of it that a person could have changed."""
        own = {b: tuple(sorted(values.items())) for b, values in self.own.items() if values}
        return (tuple(sorted(self.defaults.items())), tuple(sorted(own.items())))

    def value(self, broker: FakeBroker, name: str) -> str | None:
        """What the broker runs with."""
        return self._seen(broker, name).value

    def _seen(self, broker: FakeBroker, name: str) -> SettingSeen:
        own, file, setting = (
            self.own.get(broker.id, {}),
            self.files.get(broker.id, {}),
            settings_of(broker.version)[name],
        )
        if name in own:
            return SettingSeen(as_kafka_prints(setting, own[name]), is_own=True)
        value = self.defaults.get(name, file.get(name, setting.default))
        return SettingSeen(None if value is None else as_kafka_prints(setting, value))

    def _refusal(self, broker: FakeBroker, step: LiveStep) -> str | None:
        own = self.own.get(broker.id, {})
        offered = {n: v for n, v in step.defaults.items() if n not in own}
        for name, value in {**offered, **step.own.get(broker.id, {})}.items():
            setting = settings_of(broker.version).get(name)
            # Kafka takes a name it does not know without a word.
            words = None if setting is None else self._words(broker, setting, value)
            if words is not None:
                return words
        return None

    def _words(self, broker: FakeBroker, setting: Setting, value: str | None) -> str | None:
        if setting.update_mode is UpdateMode.READ_ONLY:
            return f"Cannot update these configs dynamically: Set({setting.name})"
        file = self.files.get(broker.id, {})
        after = self.defaults.get(setting.name, file.get(setting.name, setting.default)) if value is None else value
        if after is None:
            return None
        if (broker.id, setting.name, after) in self.refuses:
            return self.refuses[(broker.id, setting.name, after)]
        problem = unreadable_because(setting, after)
        if problem is not None:
            return f"Invalid value {after} for configuration {setting.name}: {problem.why}"
        return _pool_words(setting.name, self.value(broker, setting.name), after)


def as_kafka_prints(setting: Setting, value: str) -> str:
    """A value as a broker tells what it runs with (`ConfigDef.convertToString` of what it parsed), which is not how it
    was written: `TRUE` is `true`, `0.50` is `0.5`, `007` is `7`, `a, b` is `a,b`."""
    return _as_java_prints(float(value)) if setting.type == "double" else as_kafka_reads(setting, value)


def _as_java_prints(number: float) -> str:
    """`Double.toString`: with an exponent below a thousandth and from ten million on."""
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(number)
    digits, exponent = f"{number:.16e}".split("e")
    shortest = next(d for n in range(1, 17) if float(f"{(d := f'{float(digits):.{n}f}')}e{exponent}") == number)
    return f"{shortest}E{int(exponent)}"


def _pool_words(name: str, before: str | None, after: str) -> str | None:
    if name not in HALF_TO_DOUBLE:
        return None
    now = int(before or 0)
    told = f"Dynamic thread count update validation failed for {name}: value should be"
    if int(after) < 1:
        return f"{told} at least 1"
    if int(after) > 2 * now:
        return f"{told} not greater than double the current value {now}"
    return f"{told} at least half the current value {now}" if int(after) < now // 2 else None
