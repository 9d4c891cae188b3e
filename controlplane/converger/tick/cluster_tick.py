"""The tick of one cluster: look, decide and record until nothing is to be recorded any more, then carry out."""

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

from controlplane.cluster.producer_ids import taken_producer_ids
from controlplane.cluster.view import ClusterView
from controlplane.converger.conditions.converged import with_converged
from controlplane.converger.conditions.ticks import tick_failing, tick_works
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.windows import waits_its_turn
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.effects import (
    CancelMoves,
    PutKedgeRights,
    StartBalancing,
    StartPlanning,
    StartRun,
)
from controlplane.converger.situation.ports import Ports
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.health.heartbeats import places_heartbeats
from controlplane.converger.steps.housekeeping import asks_leaders_back
from controlplane.converger.tick import act, fleet_brake, fold_cache, observe
from controlplane.converger.tick.pacing import Pacing
from controlplane.converger.tick.report import Said, TickReport
from controlplane.fleet.failovers.held_rolls import all_freezes
from controlplane.fleet.failovers.state import PairCache
from controlplane.fleet.freezes.state import FreezeCache
from controlplane.fleet.images.state import ImageCache
from controlplane.fleet.spec_order import SpecOrderCache
from controlplane.kafka.errors import AUTHORIZATION, KafkaFault, KafkaRefused
from controlplane.storage.lease import LostLeadership
from controlplane.storage.streams import cluster_stream
from events import codec, envelope, errors, facts, ids
from providers.errors import ProviderError

_log = logging.getLogger(__name__)

MAX_DECISIONS = 20
"""Decisions one tick takes in a row while each records something."""


@dataclass(frozen=True, slots=True)
class ClusterTick:
    """What ticks of all clusters share. `loss_grace_s`, `cost_tags`, `why_not_spark`, `waits_for_spark`: as in
    `Situation`.
    """

    ports: Ports
    fold: fold_cache.FoldCache
    observer: observe.Observer
    pacing: Pacing
    brake: fleet_brake.FleetBrake
    images: ImageCache
    freezes: FreezeCache
    pairs: PairCache
    order: SpecOrderCache
    loss_grace_s: float
    cost_tags: tuple[str, ...]
    why_not_spark: Callable[[str], str | None]
    waits_for_spark: Callable[[], str]

    def run(self, uid: ids.ClusterUid, report: TickReport, *, again: bool) -> Said:
        """Whatever goes wrong is told and backed off from, LostLeadership excepted. `again`: the log is read first."""
        began = time.monotonic()
        return replace(self._run(uid, report, again=again), took_s=time.monotonic() - began)

    def _run(self, uid: ids.ClusterUid, report: TickReport, *, again: bool) -> Said:
        try:
            if again:
                self.fold.catch_up()
            said = self._converge(uid, report)
            report.doing = "recording that its ticks succeed again"
            report.events += self._record_ticks(uid, tick_works)
            self.pacing.failing.succeeded(uid)
        except LostLeadership:
            raise
        except Exception as error:  # noqa: BLE001 - a poisoned cluster must not stop the others
            return self.failed(uid, report, error)
        return said

    def failed(self, uid: ids.ClusterUid, report: TickReport, error: Exception) -> Said:
        """Backs off, and tells people of what does not pass by itself."""
        report.failures += 1
        now = self.ports.clock()
        if isinstance(error, errors.StreamConflict):
            # Somebody declared something meanwhile: read it and decide again at the next tick.
            return Said(now, str(error))
        if not isinstance(error, KafkaFault | ProviderError | errors.EventsError):
            _log.error("tick of cluster %s failed while %s", uid, report.doing, exc_info=error)
        if isinstance(error, KafkaRefused) and error.error in AUTHORIZATION:
            self.observer.rights_doubted(uid)
        self.brake.forget(uid)
        failures, pause_s = self.pacing.failing.failed(uid, error, report.doing, now)
        try:
            report.events += self._record_ticks(uid, partial(tick_failing, failed=failures, now=now))
        except LostLeadership:
            raise
        except Exception as unrecorded:  # noqa: BLE001 - told by `poisoned` then, and recorded when that is possible
            _log.warning("that ticks of cluster %s fail could not be recorded: %s", uid, unrecorded)
        row = f"failure {failures.count} in a row, next look in {pause_s:.0f} s"
        return Said(now, f"{failures.error} ({row})")

    def _converge(self, uid: ids.ClusterUid, report: TickReport) -> Said:
        view = self.fold.of(uid)
        if view is None:
            return Said(self.ports.clock(), "unknown cluster")
        report.doing = "looking at it"
        seen = self.observer.observe(view)
        for _ in range(MAX_DECISIONS):
            report.doing = "deciding what to do"
            now, allowance = self.ports.clock(), self.brake.allowance(view)
            image = self.images.offer(view, now)
            freezes = all_freezes(self.freezes, self.pairs, view, now)
            order = self.order.waits(view, now)
            situation = Situation(
                view,
                seen,
                now,
                allowance,
                self.loss_grace_s,
                freezes,
                image,
                order,
                self.cost_tags,
                self.why_not_spark(view.uid),
                self.waits_for_spark(),
                frozenset() if view.quorum.founding else taken_producer_ids(self.fold.all()),
            )
            decision = decide(situation)
            if fleet_brake.is_counted(decision):
                decision, view, events = self._take(situation)
            else:
                view, events = self._record(view, decision)
            report.events += events
            if not decision.events or decision.effects or decision.wait:
                # Condition changes end the tick, with the effects they came with.
                self.brake.hear(view, decision.wait)
                self.pacing.waits_its_turn(view, waits=waits_its_turn(decision))
                acting = situation if view is situation.view else replace(situation, view=view)
                sentence = self._act(acting, decision, report)
                return Said(self.ports.clock(), sentence, decision.wait.until if decision.wait else None)
        return Said(self.ports.clock(), decision.sentence)

    def _act(self, situation: Situation, decision: Decision, report: TickReport) -> str:
        refusals, uid = [], situation.view.uid
        if decision.effects:
            self.observer.look_again(uid)
        if asks_leaders_back(decision):
            self.observer.leaders_asked_back(uid)
        if places_heartbeats(decision):
            self.observer.heartbeats_asked(uid)
        for effect in decision.effects:
            report.effects += 1
            report.doing = f"carrying out {type(effect).__name__}"
            if isinstance(effect, PutKedgeRights):
                self.observer.rights_doubted(uid)
            report.jobs += isinstance(effect, StartRun | StartPlanning | StartBalancing)
            refused = act.carry_out(effect, situation, self.ports)
            if refused:
                refusals.append(refused)
            if isinstance(effect, CancelMoves):
                self.observer.moves_taken_back(uid, effect.partitions, refused)
        if refusals and asks_leaders_back(decision):
            self.observer.election_refused(uid, refusals[0])
        return "; ".join([decision.sentence, *refusals])

    def _take(self, situation: Situation) -> tuple[Decision, ClusterView, int]:
        """Decides again and records while no other cluster can take what the fleet's brake counts."""
        with self.brake.taking:
            decision = decide(replace(situation, allowance=self.brake.allowance(situation.view)))
            view, events = self._record(situation.view, decision)
            self.brake.note(view)
        return decision, view, events

    def _record(self, view: ClusterView, decision: Decision) -> tuple[ClusterView, int]:
        """The view after the decision's events, and how many they are."""
        if not decision.events:
            return view, 0
        recorded = self._append(view, decision)
        return self.fold.advance(view, recorded), len(recorded)

    def _append(self, view: ClusterView, decision: Decision) -> list[envelope.Recorded]:
        epoch = self.ports.epoch()
        stream = cluster_stream(view.uid)
        origin = envelope.Origin(actor="converger", epoch=epoch)
        events = new_events(stream, view.version, decision.events)
        return self.ports.store.append(stream, events, expected_version=view.version, origin=origin)

    def _record_ticks(
        self, uid: ids.ClusterUid, condition: Callable[[ClusterView], facts.ConditionChanged | None]
    ) -> int:
        """Records that ticks fail, or do not any more, where `told` says so. Returns how many events that took."""
        view = self.fold.of(uid)
        changed = condition(view) if view is not None else None
        if view is None or changed is None:
            return 0
        return self._record(view, Decision("", with_converged(view, changed)))[1]


def new_events(stream: str, version: int, facts: Iterable[object]) -> list[envelope.NewEvent]:
    """Facts as events to append after `version`."""
    return codec.encode_all(facts, "event", stream, str(version))
