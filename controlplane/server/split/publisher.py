"""The loop's side: it tells portals how it does, once a second, and answers what they asked for; it tells processes
that answer agents what those are to send."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from controlplane.api.cloud_readiness import Examination, Examinations
from controlplane.api.services import Fleet, HeldLeadership
from controlplane.background.git_sync.status import SourceStatuses
from controlplane.cluster.observed.agent_telemetry import AgentTelemetry, keep_telemetry
from controlplane.converger.tick.report import Said
from controlplane.converger.tick.status import ServerLoop
from controlplane.server.portal_rights import ASKED
from controlplane.server.split import message
from controlplane.storage.latest_values import LatestStore, LatestValue, Subject
from events.clock import Clock
from events.ids import ClusterUid

SAID_ANEW = timedelta(seconds=10)
"""A sentence that stays the same is told again after this, with the time of the last tick."""

OLDEST_ASK = timedelta(seconds=30)
"""What was asked for longer ago than this when a loop begins is answered by the next time somebody asks."""


@dataclass(frozen=True, slots=True)
class TelemetryTeller:
    """`Polled` by the leader: processes that answer agents hear what those are to send."""

    latest: LatestStore
    telemetry: AgentTelemetry
    clock: Clock

    def poll(self) -> None:
        """See Polled. Raises StoreUnavailable."""
        keep_telemetry(self.latest, self.telemetry, self.clock())


@dataclass(slots=True)
class LoopTeller:
    """`Polled` by the leader. `planner` as the API says it, `files` what a portal has to have alike, `ring` has a git
    source looked at.
    """

    loop: ServerLoop
    fleet: Fleet
    latest: LatestStore
    leadership: HeldLeadership
    statuses: SourceStatuses
    examinations: Examinations
    ring: Callable[[str], bool]
    planner: Callable[[], str]
    files: Callable[[], Mapping[str, str]]
    ca_pem: str
    clock: Clock
    _last_said: dict[ClusterUid, Said] = field(default_factory=dict)
    _answered: dict[str, datetime] | None = None
    _watched: set[str] = field(default_factory=set)

    def poll(self) -> None:
        """See Polled. Raises StoreUnavailable, OSError."""
        epoch = self.leadership.held_epoch()
        if epoch is None:
            return
        now = self.clock()
        value = message.MESSAGE.dump_python(self._message(epoch), mode="json")
        self.latest.put_all(
            [*self._said(), LatestValue(Subject(message.LOOP, message.NO_CLUSTER, "loop"), value, "loop", now)]
        )
        self._answer(now)

    def _message(self, epoch: int) -> message.LoopMessage:
        loop = self.loop
        return message.LoopMessage(
            server=loop.server,
            epoch=epoch,
            interval_s=loop.interval_s,
            position=loop.ticked.position,
            count=loop.watch.count,
            planner=self.planner(),
            beats=tuple(loop.watch.last()),
            timers={name: tuple(timers.last_polls()) for name, timers in loop.timers.items()},
            poisoned=tuple(loop.ticked.poisoned()),
            tagged=tuple(loop.tagged()),
            progress=dict(loop.progress),
            sources={status.binding.name: status for status in self.statuses.all()},
            files=self.files(),
            ca_pem=self.ca_pem,
            pipeline=loop.pipeline(),
            plans=loop.plans(),
        )

    def _said(self) -> list[LatestValue]:
        """What is new of each cluster; a sentence that stays costs a row every ten seconds."""
        rows = []
        for view in self.fleet.views():
            said, before = self.fleet.said(view.uid), self._last_said.get(view.uid)
            if view.deleted or said is None:
                continue
            if before is None or before.sentence != said.sentence or said.at - before.at >= SAID_ANEW:
                self._last_said[view.uid] = said
                value = message.SAYING.dump_python(said, mode="json")
                rows.append(LatestValue(Subject(message.SAID, view.uid, "said"), value, "loop", said.at))
        return rows

    def _answer(self, now: datetime) -> None:
        asked = {row.subject.name: row.observed_at for row in self.latest.of_kind(ASKED)}
        before = self._answered
        if before is None:
            before = {name: at for name, at in asked.items() if now - at > OLDEST_ASK}
        self._answered = asked
        for name in sorted(name for name, at in asked.items() if before.get(name) != at):
            if name.startswith(message.SOURCE):
                self.ring(name.removeprefix(message.SOURCE))
            elif name.startswith(message.DOCTOR):
                self._watched.add(name.removeprefix(message.DOCTOR))
        for cloud in sorted(self._watched):
            found = tuple(self.examinations.results(cloud))
            self._tell(cloud, found, now)
            if not any(one.asking for one in found):
                self._watched.discard(cloud)

    def _tell(self, cloud: str, found: tuple[Examination, ...], now: datetime) -> None:
        value = {"found": message.EXAMINATIONS.dump_python(found, mode="json")}
        self.latest.put(LatestValue(Subject(message.EXAMINED, message.NO_CLUSTER, cloud), value, "loop", now))
