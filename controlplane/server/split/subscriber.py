"""A portal's side: what the loop last told, how long ago, and what is asked of it."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType

from controlplane.api.cloud_readiness import KEPT_FOR, CloudUnknown, Examination
from controlplane.background.git_sync.binding import GitBinding
from controlplane.background.git_sync.status import SourceStatus, SourceStatuses
from controlplane.cluster.view import ClusterView
from controlplane.converger.tick.report import Said
from controlplane.converger.tick.status import MOST_JOBS, JobStatus, LoopStatus
from controlplane.server.portal_rights import ASKED
from controlplane.server.split import message
from controlplane.server.status import progress_of
from controlplane.storage.job_store import JobStore
from controlplane.storage.latest_values import LatestStore, LatestValue, Subject, read_as, read_by_cluster
from events.clock import Clock
from events.ids import ClusterUid
from events.store import EventStore
from providers.finding import Finding
from providers.registry import names

SILENT_AFTER = timedelta(seconds=15)
"""A loop tells once a second. One that was not heard for so long is told to people as not seen."""

_ASK_AGAIN = timedelta(seconds=5)
_STARTED = "Start it: `kedge server --only loop`."


class LoopSubscriber:
    """`Polled`. Thread-safe. How long the loop is silent counts on this portal's own clock: its word only has to be
    another one than before, so two hosts whose clocks differ do not take each other for dead.
    """

    def __init__(self, latest: LatestStore, clock: Clock) -> None:
        self._latest, self._clock = latest, clock
        self._lock = threading.Lock()
        self._last_message: message.LoopMessage | None = None
        self._read_at: datetime | None = None
        self._heard_at: datetime | None = None
        self._said: Mapping[ClusterUid, Said] = {}

    def poll(self) -> None:
        """See Polled. Raises StoreUnavailable."""
        row = self._latest.get(Subject(message.LOOP, message.NO_CLUSTER, "loop"))
        last_message = read_as(message.MESSAGE, row) if row is not None else None
        if row is None or last_message is None or row.observed_at == self._read_at:
            return
        said, now = read_by_cluster(message.SAYING, self._latest.of_kind(message.SAID)), self._clock()
        with self._lock:
            # The first word that is found may be an old one: how old says the loop's clock, as nobody else can.
            self._heard_at = min(now, row.observed_at) if self._read_at is None else now
            self._last_message, self._read_at, self._said = last_message, row.observed_at, said

    @property
    def last_message(self) -> message.LoopMessage | None:
        """The last one, however old; None where none was ever heard."""
        return self._last_message

    def silent_since(self) -> datetime | None:
        """When a loop that is silent was last heard; None while it is heard."""
        with self._lock:
            heard_at = self._heard_at
        return heard_at if heard_at is not None and self._clock() - heard_at > SILENT_AFTER else None

    def notice(self) -> str:
        """What people are told of a loop that is not there, "" while it is. The same words until that changes."""
        if self._last_message is None:
            return f"no loop has been heard on this database yet: what you ask for is recorded and waits. {_STARTED}"
        since = self.silent_since()
        if since is None:
            return ""
        return (
            f"the loop has not been seen since {since:%Y-%m-%d %H:%M:%S} UTC: what you ask for is recorded and waits "
            f"for it, what is shown may be as old. {_STARTED}"
        )

    def said(self, uid: ClusterUid) -> Said | None:
        """What the loop last said of a cluster; that it is silent, where it is."""
        said, notice = self._said.get(uid), self.notice()
        if not notice:
            return said
        return Said(said.at if said else self._clock(), notice) if said else None

    def planner(self) -> str:
        """In the API's words."""
        return self._last_message.planner if self._last_message is not None else "unknown"

    def progress(self, view: ClusterView) -> str:
        """What the long act in hand of a cluster last said."""
        if self._last_message is None or self.notice():
            return ""
        return progress_of(self._last_message.progress, view)

    def ask(self, name: str, value: Mapping[str, str] = MappingProxyType({})) -> None:
        """Asks for a look, or a signature; the loop answers within about a second. Raises StoreUnavailable."""
        self._latest.put(LatestValue(Subject(ASKED, message.NO_CLUSTER, name), dict(value), "portal", self._clock()))


@dataclass(frozen=True, slots=True)
class ReceivedLoop:
    """The loop's service of a portal: `LoopService`."""

    subscriber: LoopSubscriber
    store: EventStore
    jobs: JobStore

    def status(self) -> LoopStatus:
        last_message = self.subscriber.last_message
        if last_message is None:
            return LoopStatus(head=self.store.head(), jobs=[JobStatus(job) for job in self.jobs.newest(MOST_JOBS)])
        return LoopStatus(
            server=last_message.server,
            interval_s=last_message.interval_s,
            head=max(self.store.head(), last_message.position),
            position=last_message.position,
            count=last_message.count,
            beats=last_message.beats,
            timers=last_message.timers,
            jobs=[JobStatus(job, last_message.progress.get(job.intent_id, "")) for job in self.jobs.newest(MOST_JOBS)],
            poisoned=last_message.poisoned,
            tagged=last_message.tagged,
            pipeline=last_message.pipeline,
            plans=last_message.plans,
        )


class ReceivedStatus(SourceStatuses):
    """The `Board` of git sources as the loop told it."""

    def __init__(self, bindings: tuple[GitBinding, ...], subscriber: LoopSubscriber) -> None:
        super().__init__(bindings)
        self._subscriber = subscriber

    def all(self) -> list[SourceStatus]:
        return [self._heard(status) for status in super().all()]

    def of(self, name: str) -> SourceStatus | None:
        known = super().of(name)
        return None if known is None else self._heard(known)

    def _heard(self, known: SourceStatus) -> SourceStatus:
        last_message = self._subscriber.last_message
        report = last_message.sources.get(known.binding.name) if last_message is not None else None
        if report is None:
            return replace(known, message=self._subscriber.notice() or "the loop has no binding of this name")
        return SourceStatus(known.binding, **{name: getattr(report, name) for name in report.__dataclass_fields__})


class AskedExaminations:
    """Clouds are examined by the loop, which has their credentials: `Examinations` of a portal."""

    def __init__(self, subscriber: LoopSubscriber, latest: LatestStore, clock: Clock) -> None:
        self._subscriber, self._latest, self._clock = subscriber, latest, clock
        self._asked: dict[str, datetime] = {}

    def results(self, cloud: str = "") -> Sequence[Examination]:
        """See Examinations. Until the loop has answered it says that it is asking."""
        if cloud and cloud not in names():
            raise CloudUnknown(f"there is no cloud {cloud!r}; there is {', '.join(names())}")
        now, notice = self._clock(), self._subscriber.notice()
        if notice:
            finding = Finding("the loop", None, notice, "clouds are examined by the loop, which has their credentials")
            return (Examination(cloud or "all", False, now, now, (finding,)),)
        if now - self._asked.get(cloud, now - _ASK_AGAIN) >= _ASK_AGAIN:
            self._asked[cloud] = now
            self._subscriber.ask(message.DOCTOR + cloud)
        row = self._latest.get(Subject(message.EXAMINED, message.NO_CLUSTER, cloud))
        try:
            found = message.EXAMINATIONS.validate_python(row.value["found"]) if row is not None else None
        except ValueError:  # another release wrote it
            found = None
        if found is None:
            return (Examination(cloud or "all", asking=True),)
        return tuple(replace(one, asking=one.asking or _is_old(one, now)) for one in found)


def _is_old(one: Examination, now: datetime) -> bool:
    """What was found so long ago is looked for anew, as it was asked for: the answer is on its way."""
    return one.ended_at is not None and now - one.ended_at >= KEPT_FOR


def rings(subscriber: LoopSubscriber) -> Callable[[str], bool]:
    """How a portal has a git source looked at."""

    def ring(name: str) -> bool:
        subscriber.ask(message.SOURCE + name)
        return not subscriber.notice()

    return ring
