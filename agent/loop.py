"""The converger of one VM: looks, lets `plan_steps` decide, does one step per service, reports. Level-triggered.

It never waits: a stop or a start is begun in one pass and found done in a later one, so reports go on meanwhile.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace

from agent import adapters, documents, metrics_duty, reporting, status, surroundings, wire
from agent.records import KeptDocument, Records, RecordUnreadable, ServiceRecord
from agent.steps import HoldOff, LocalState, ServiceFacts, StorageFacts, plan_steps

_log = logging.getLogger(__name__)

_BUSY: frozenset[wire.ServiceState] = frozenset({"waiting", "formatting", "starting", "stopping"})


class AgentConverger:
    """`tick` is one pass; call it again after the seconds it returns, or as soon as the inbox wakes."""

    def __init__(
        self, around: surroundings.AgentEnvironment, replicator: surroundings.Replicator | None = None
    ) -> None:
        self._a, self._copying = around, replicator or surroundings.NoReplicator()
        self._watches: dict[wire.ServiceName, status.ServiceWatch] = {
            name: status.ServiceWatch() for name in around.services
        }
        self._reporting = reporting.Reporting(around, self._watches)
        self._hands = adapters.AgentAdapters(around, self._watches, tell=self._report)
        self._kept, self._trouble = _kept_document(around.records)
        self._problem, self._volumes_problem, self._logging_problem = "", "", ""
        self._local: LocalState | None = None
        self._filter: wire.PacketFilterReport | None = None
        self._overlay: wire.OverlayReport | None = None
        self._door: wire.DoorReport | None = None
        self._replicator: wire.ReplicatorReport | None = None
        self._confirmed = ""
        self.shutting_down = False

    @property
    def etag(self) -> str:
        """Of the document in force, "" when there is none."""
        return self._kept.etag if self._kept else ""

    @property
    def is_down(self) -> bool:
        """True when a shut-down is complete: no service has a live process, nor has what copies."""
        if not self.shutting_down or self._copying.is_alive:
            return False
        return not any(surroundings.live(service.process) for service in self._a.services.values())

    @property
    def measured(self) -> metrics_duty.MeasuredBroker | None:
        """The broker whose metrics are to be sent: it is up, and the document says where they go."""
        watch, document = self._watches.get("broker"), self._document
        if document is None or document.metrics is None or watch is None or watch.wanted is None:
            return None
        if watch.status is None or watch.status.state != "running":
            return None
        return metrics_duty.MeasuredBroker(watch.wanted, document.cluster_uid, document.node, document.metrics)

    @property
    def logs(self) -> wire.LogsTopic | None:
        """Where lines of logs go; those of a VM that leaves go on, its last words among them."""
        return self._document.logs if self._document else None

    @property
    def heartbeats(self) -> wire.Heartbeats | None:
        """The brokers to be looked at as a client does; a VM that leaves looks at none."""
        document = self._lasting
        return document.heartbeats if document else None

    @property
    def agent_order(self) -> wire.AgentOrder | None:
        """The agent this VM is to run; one that leaves stays with the one it has."""
        document = self._lasting
        return document.agent if document else None

    def tick(self) -> float:
        self._take_news()
        self._keep_filter()  # before anything is started: who may reach it is decided by then
        self._door = self._a.door(self._document.door if self._document else None, self._is_confirmed)
        self._overlay = self._a.overlay(self._document.overlay if self._document else None)
        local = self._local = self._look()
        self._replicator = self._follow_replicator(local)  # before the broker: it writes to it
        steps = plan_steps(self._document, local)
        again_at_once = [self._hands.do(step, local) for step in steps]
        self._follow()
        self._report()
        if any(again_at_once):
            return 0.0
        busy = any(watch.status is not None and watch.status.state in _BUSY for watch in self._watches.values())
        busy = busy or (self._replicator is not None and self._replicator.state == "stopping")
        return self._a.settings.times.busy_tick_s if busy else self._a.settings.times.tick_s

    def _follow(self) -> None:
        """What of the document counts without a restart."""
        problems = []
        for name, watch in self._watches.items():
            service, wanted = self._a.services[name], watch.wanted
            if wanted is None or wanted.state != "running" or surroundings.live(service.process) is None:
                continue
            try:
                service.follow(wanted)
            except OSError as error:
                problems.append(f"{name}: how it logs cannot be written: {error}")
        self._logging_problem = "; ".join(problems)

    @property
    def document(self) -> wire.Document | None:
        """The one in force."""
        return self._document

    @property
    def _document(self) -> wire.Document | None:
        return self._kept.document if self._kept else None

    @property
    def _lasting(self) -> wire.Document | None:
        """The document of a VM that does not leave."""
        leaves = self.shutting_down or self._document is None or self._a.records.is_retired()
        return None if leaves else self._document

    def _take_news(self) -> None:
        news = self._a.inbox.take()
        self._problem, self._confirmed = news.problem, news.confirmed
        if news.retired and not self._a.records.is_retired():
            _log.warning("this instance is retired: its services are stopped for good")
            self._a.records.keep_retired()
        if news.document is not None:
            self._take_document(news.document.etag, news.document.raw)

    def _take_document(self, etag: str, raw: bytes) -> None:
        verdict = documents.judge_document(raw, boot=self._a.boot, current=self._document)
        if isinstance(verdict, documents.DocumentRejected):
            _log.warning("%s", verdict.reason)
            self._trouble = verdict.reason
            return
        self._trouble = ""
        kept = KeptDocument(etag, verdict.document)
        if kept != self._kept:
            self._a.records.keep_document(kept)  # before anything acts on it: a reboot goes on with what was begun
            self._kept = kept
        if verdict.changed:
            _log.info("new document: %s", ", ".join(f"{s.name} {s.state} {s.start_id}" for s in kept.document.services))
            for watch in self._watches.values():
                watch.let_go()  # what failed before may be mended by the new document

    @property
    def _is_confirmed(self) -> bool:
        """Whether the document in force is the one that the server said counts, since this agent began."""
        return self._kept is not None and self._kept.etag == self._confirmed != ""

    def _follow_replicator(self, local: LocalState) -> wire.ReplicatorReport | None:
        """Nothing is copied to a cluster that lets clients in, whatever the document says: it may be of a server that
        knows less of the pair than this VM's door does."""
        wanted, door = self._document.replicator if self._document else None, self._door
        if wanted is not None and door is not None and door.state == "open":
            wanted = wanted.model_copy(update={"state": "stopped"})
        return self._copying.follow(
            wanted,
            is_confirmed=self._is_confirmed and (door is None or door.in_force),
            leaving="retired" if local.retired else "shutting down" if local.shutting_down else "",
        )

    def _keep_filter(self) -> None:
        rules = self._document.packet_filter if self._document else None
        self._filter = self._a.packet_filter(rules or "", self._a.clock.monotonic_s())

    def _look(self) -> LocalState:
        busy = [name for name, service in self._a.services.items() if surroundings.live(service.process)]
        seen = self._a.volumes.look(self._document, busy)
        attached, self._volumes_problem = seen.attached, seen.problem
        wanted = {service.name: service for service in self._document.services} if self._document else {}
        facts: dict[wire.ServiceName, ServiceFacts] = {}
        for name, watch in self._watches.items():
            if name in wanted or surroundings.live(self._a.services[name].process):
                watch.wanted = wanted.get(name, watch.wanted)
                facts[name] = self._facts(name, wanted.get(name), attached)
            else:
                watch.status = None
        return LocalState(
            now_s=self._a.clock.monotonic_s(),
            boot_id=self._a.boot_id,
            services=facts,
            attached=attached,
            addresses=self._a.addresses(),
            retired=self._a.records.is_retired(),
            shutting_down=self.shutting_down or self._is_taken_back(),
            stop_deadline_s=self._a.settings.times.stop_deadline_s,
        )

    def _is_taken_back(self) -> bool:
        """The cloud takes the VM so soon that services have to stop now to stop in order: leaders are handed over. That
        is not recorded as stopped, as at a shut-down: a VM that stays after all serves again."""
        preemption = self._a.preemption()
        if preemption is None or preemption.kind != "preempt" or preemption.deadline is None:
            return False
        return (preemption.deadline - self._a.clock.now()).total_seconds() <= self._a.settings.times.preempt_stop_s

    def _facts(
        self, name: wire.ServiceName, wanted: wire.ServiceDocument | None, attached: Mapping[str, str]
    ) -> ServiceFacts:
        watch, service = self._watches[name], self._a.services[name]
        process = surroundings.live(service.process)
        try:
            record, unreadable = self._a.records.service(name), ""
        except RecordUnreadable as error:
            record, unreadable = ServiceRecord(), f"{error}; nothing is started or stopped on a guess, replace the VM"
        watch.record = record
        facts = ServiceFacts(
            running=process.start_id if process else None,
            record=record,
            unreadable=unreadable,
            stop_asked_s=watch.stop_asked_s,
            hold=HoldOff(watch.hold_until_s, watch.hold_reason) if watch.hold_reason else None,
            # Of an adopted process nobody knows since when: it is no newcomer.
            unready_since_s=watch.started_s if process and watch.started_s and watch.up_pid != process.pid else None,
        )
        if wanted is None or wanted.state != "running" or process is not None:
            return facts
        is_attached = all(attached.get(log_dir.name) == log_dir.volume for log_dir in wanted.log_dirs)
        storage = service.storage(wanted, record) if is_attached else StorageFacts("refused", "not attached")
        awaits = self._awaited(wanted) if is_attached and record.end_of(wanted.start_id) is None else ""
        return replace(facts, is_installed=service.is_installed(wanted), storage=storage, awaits=awaits)

    def _awaited(self, wanted: wire.ServiceDocument) -> str:
        """The door and the overlay first: they keep clients, strangers and clear text out from the first packet on. An
        open door keeps nobody out: a primary does not lose its brokers because their VMs could not be shut."""
        if self._door is not None and self._door.state == "shut" and not self._door.in_force:
            return f"waiting for the door, which is not in force: {self._door.problem}"
        overlay = self._document.overlay if self._document else None
        if overlay is None or overlay.state == "off" or (self._overlay is not None and self._overlay.kept):
            return self._a.certificate(wanted)
        why = (self._overlay.unable or self._overlay.problem) if self._overlay else ""
        return f"waiting for the overlay, which is not there: {why or 'it is being set up'}"

    def _report(self) -> None:
        if self._local is not None:
            said = (self._trouble, self._problem, self._volumes_problem, self._logging_problem)
            message = "; ".join(text for text in said if text)
            epoch = self._document.epoch if self._document else 0
            network = reporting.VmNetworkStatus(self._filter, self._overlay, self._door)
            self._reporting.report(
                self._local, epoch=epoch, message=message, network=network, replicator=self._replicator
            )


def _kept_document(records: Records) -> tuple[KeptDocument | None, str]:
    """A damaged document is none: nothing is started from it, what runs is left alone, the server sends it again."""
    try:
        return records.document(), ""
    except RecordUnreadable as error:
        _log.error("%s", error)
        return None, f"{error}; waiting for the server to send the document again"
