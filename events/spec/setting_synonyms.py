"""Settings that Kafka reads in several units: the coarse ones cannot change live, the one in milliseconds can.

Source: `DynamicBrokerConfig.brokerConfigSynonyms` and `KafkaConfig` (4.1, 4.2): milliseconds win over minutes, minutes
over hours; a negative retention in any unit means for ever (-1). A value set live removes the synonyms of the file
(`DynamicBrokerConfig.overrideProps`), so `log.retention.ms` set live wins over `log.retention.hours` in the file.
`log.flush.scheduler.interval.ms` is no such synonym, though Kafka lists it: it also times a thread that starts once.
"""

from collections.abc import Mapping
from dataclasses import dataclass

_MINUTE_MS = 60_000
_HOUR_MS = 60 * _MINUTE_MS
_FOR_EVER = "-1"


@dataclass(frozen=True, slots=True)
class TimeSetting:
    """One length of time. `live_name` takes milliseconds; `coarse` are the others with their unit in ms, the first one
    given wins; the last one is never silent, `default` is its value."""

    live_name: str
    coarse: tuple[tuple[str, int], ...]
    default: int

    @property
    def names(self) -> tuple[str, ...]:
        return (self.live_name, *(name for name, _ in self.coarse))

    def deciding(self, settings: Mapping[str, str]) -> str:
        """The name whose value is in force."""
        return next((name for name in self.names if name in settings), self.names[-1])

    def milliseconds(self, settings: Mapping[str, str]) -> str:
        """The value in force, as `live_name` takes it. Raises `ValueError` where it is no whole number."""
        if self.live_name in settings:
            return settings[self.live_name]
        name, unit_ms = next(((n, unit) for n, unit in self.coarse if n in settings), self.coarse[-1])
        count = int(settings.get(name, str(self.default)))
        return _FOR_EVER if count < 0 else str(count * unit_ms)


TIMES = (
    TimeSetting(
        "log.retention.ms", (("log.retention.minutes", _MINUTE_MS), ("log.retention.hours", _HOUR_MS)), default=168
    ),
    TimeSetting("log.roll.ms", (("log.roll.hours", _HOUR_MS),), default=168),
    TimeSetting("log.roll.jitter.ms", (("log.roll.jitter.hours", _HOUR_MS),), default=0),
)


def time_setting(name: str) -> TimeSetting | None:
    """The length of time a setting gives in one of its units, or None if it is no such setting."""
    return next((time for time in TIMES if name in time.names), None)
