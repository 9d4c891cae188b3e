"""What brokers are asked when a person looks closer: the settings of a topic or a broker, where its logs begin and end,
and what the metric lake has measured of a cluster.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Protocol

from controlplane.cluster.view import ClusterView
from controlplane.converger.tick.lake_rates import OLDEST_S, ReadRates, read_lake
from controlplane.kafka.gateway import KafkaGateway
from controlplane.runtime.short_cache import ShortCache
from events.clock import Clock
from events.ids import ClusterUid
from planner.broker_answers import TopicLogs, ValueSeen
from planner.observed import KafkaSnapshot, SettingsSeen
from planner.rights.seen import RightsSeen

if TYPE_CHECKING:
    from spark.metrics.rates import Rates

APART: Final = timedelta(seconds=5)
"""Two looks at logs closer together tell no rate."""
TOO_FAR: Final = timedelta(minutes=10)
"""Nor do two that are further apart: a mean over that time is not what is written now."""
_LAKE_FRESH: Final = timedelta(seconds=60)
"""Windows close every few minutes."""


@dataclass(frozen=True, slots=True)
class LogsSeen:
    """The logs of a topic now, and as an earlier look found them, None where there was none."""

    now: TopicLogs
    before: TopicLogs | None = None

    @property
    def apart_s(self) -> float | None:
        """Seconds between the two looks; None where they tell no rate."""
        apart = self.now.at - self.before.at if self.before else None
        return apart.total_seconds() if apart is not None and APART <= apart <= TOO_FAR else None

    def records_per_s(self, partition: int) -> float | None:
        """How many records its log took in between, each second. A log that ends earlier than it did is another log:
        its topic was made anew."""
        seconds, new = self.apart_s, self.now.partitions.get(partition)
        old = self.before.partitions.get(partition) if self.before else None
        if seconds is None or new is None or old is None or new.end is None or old.end is None or new.end < old.end:
            return None
        return (new.end - old.end) / seconds


class KafkaQueries(Protocol):
    """Each call raises KafkaFault, and takes up to 10 s; `KafkaQueryService` is one."""

    def topic_values(self, view: ClusterView, topic: str) -> Mapping[str, ValueSeen] | None:
        """Every setting as it counts, without what Kedge sets while it moves replicas. None: no such topic."""

    def broker_values(self, view: ClusterView, broker: int) -> Mapping[str, ValueSeen]:
        """Every setting the broker runs with."""

    def running(self, view: ClusterView, names: frozenset[str]) -> SettingsSeen:
        """These settings as each broker that answers runs with them."""

    def topic_logs(self, view: ClusterView, topic: str) -> LogsSeen | None:
        """Where its logs begin and end. None: no such topic."""

    def snapshot(self, view: ClusterView) -> KafkaSnapshot:
        """Its metadata with the sizes of replicas."""

    def user_rights(self, view: ClusterView) -> RightsSeen:
        """ACLs, quotas and credentials of all users."""

    def lake_rates(self, view: ClusterView) -> "Rates | None":
        """Bytes per second by partition as the metric lake has them; None where it has none that are fresh. Raises
        nothing: what is not known there is known from the logs."""


class KafkaQueryService:
    """`KafkaQueries`, thread-safe. `kafka` is a way to brokers of its own: a long look must not keep a tick waiting.
    `lake`: where the metric lake is, "" for none."""

    def __init__(
        self, kafka: Callable[[ClusterView], KafkaGateway], clock: Clock, *, lake: str = "", read: ReadRates = read_lake
    ) -> None:
        self._kafka, self._clock, self._lake, self._read = kafka, clock, lake, read
        self._topics: ShortCache[tuple[ClusterUid, str], Mapping[str, ValueSeen] | None] = ShortCache(clock)
        self._brokers: ShortCache[tuple[ClusterUid, int], Mapping[str, ValueSeen]] = ShortCache(clock)
        self._running: ShortCache[tuple[ClusterUid, frozenset[str]], SettingsSeen] = ShortCache(clock)
        self._logs: ShortCache[tuple[ClusterUid, str], LogsSeen | None] = ShortCache(clock, most=64)
        self._snapshots: ShortCache[ClusterUid, KafkaSnapshot] = ShortCache(clock, most=4)
        self._rights: ShortCache[ClusterUid, RightsSeen] = ShortCache(clock, most=4)
        self._rates: ShortCache[ClusterUid, Rates] = ShortCache(clock, fresh=_LAKE_FRESH, most=16)

    def topic_values(self, view: ClusterView, topic: str) -> Mapping[str, ValueSeen] | None:
        return self._topics.look((view.uid, topic), lambda _: self._kafka(view).topic_values(topic))

    def broker_values(self, view: ClusterView, broker: int) -> Mapping[str, ValueSeen]:
        return self._brokers.look((view.uid, broker), lambda _: self._kafka(view).broker_values(broker))

    def running(self, view: ClusterView, names: frozenset[str]) -> SettingsSeen:
        return self._running.look((view.uid, names), lambda _: self._kafka(view).running_settings(names))

    def topic_logs(self, view: ClusterView, topic: str) -> LogsSeen | None:

        def ask(known: LogsSeen | None) -> LogsSeen | None:
            logs = self._kafka(view).topic_logs(topic)
            return None if logs is None else LogsSeen(logs, known.now if known else None)

        return self._logs.look((view.uid, topic), ask)

    def snapshot(self, view: ClusterView) -> KafkaSnapshot:
        return self._snapshots.look(view.uid, lambda _: self._kafka(view).snapshot())

    def user_rights(self, view: ClusterView) -> RightsSeen:
        return self._rights.look(view.uid, lambda _: self._kafka(view).user_rights())

    def lake_rates(self, view: ClusterView) -> "Rates | None":
        if not self._lake:
            return None
        rates = self._rates.look(view.uid, lambda _: self._read(self._lake, view.uid, self._clock()))
        return rates if rates and rates.age_s is not None and rates.age_s <= OLDEST_S else None
