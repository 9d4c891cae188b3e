"""Heartbeats through a whole roll of real brokers: nobody is told silent whom Kedge itself replaces.

The longest silence of each broker, and what a record took meanwhile, are printed.
"""

import json
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field, replace
from threading import Event, Thread

from agent.wire import HeartbeatReport
from controlplane.cluster.observed.agent_reports import AGENT_REPORT
from controlplane.converger.conditions.heartbeats import HEARTBEATS_SILENT
from planner.heartbeats import HEARTBEAT_TOPIC
from tests.e2e.cluster_spec import POOLS
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic


def nobody_is_silent_in_a_roll_of_all(cluster: LivingCluster, *, within_s: float) -> None:
    """Rolls all three brokers under traffic. Nobody is told silent; each new one is heard and leads its partition."""
    cluster.until(lambda: _are_heard(cluster), "heartbeats through all three brokers", timeout_s=90)
    old = {i.service_id for i in cluster.detail().instances if i.service == "broker"}
    listener = Listener(cluster)
    thread = Thread(target=listener.listen, daemon=True)
    with traffic(cluster.bootstrap):
        thread.start()
        try:
            began, before = time.monotonic(), cluster.head()
            cluster.declare(replace(cluster.spec.rolled(*POOLS), throttle_mib_per_s=64))
            cluster.converged(within_s=within_s)
            took_s = time.monotonic() - began
            cluster.until(lambda: _are_heard(cluster), "heartbeats through all the new brokers", timeout_s=60)
        finally:
            listener.over.set()
            thread.join(30)
    new = {i.service_id for i in cluster.detail().instances if i.service == "broker"}
    print(f"rolled in {took_s:.0f} s")
    for broker, told in sorted(listener.heard.items()):
        produce, read = _most(t.produce_p99_s for t in told), _most(t.end_to_end_p99_s for t in told)
        silent = max(t.silent_s for t in told)
        print(f"broker {broker}: {len(told)} looks, silent {silent:.1f} s at most, p99 {produce:.3f} / {read:.3f} s")
    assert not old & new
    assert new <= listener.heard.keys()
    assert not listener.silences
    conditions = [e for e in cluster.events(before) if e.type == "condition.changed" and e.data["status"]]
    assert not [e for e in conditions if e.data["type"] == HEARTBEATS_SILENT]
    led = {p.leader for p in cluster.snapshot().partitions if p.name.topic == HEARTBEAT_TOPIC}
    assert led == new, "one partition led by each"
    settled(cluster)


@dataclass
class Listener:
    """Everything agents told of heartbeats while it listens, by broker, and whether silence was told of anybody."""

    cluster: LivingCluster
    heard: dict[int, list[HeartbeatReport]] = field(default_factory=dict)
    silences: set[str] = field(default_factory=set)
    over: Event = field(default_factory=Event)

    def listen(self) -> None:
        while not self.over.wait(0.5):
            for told in reports(self.cluster):
                self.heard.setdefault(told.broker, []).append(told)
            conditions = self.cluster.detail().conditions
            self.silences |= {c.message for c in conditions if c.type == HEARTBEATS_SILENT and c.status}


def reports(cluster: LivingCluster) -> list[HeartbeatReport]:
    """What the agent of each VM there is last told of the brokers it looks at."""
    database, there = cluster.home / "kedge.db", {i.key for i in cluster.detail().instances}
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=5)) as connection:
        rows = connection.execute("SELECT subject, value FROM latest WHERE kind = ?", (AGENT_REPORT,)).fetchall()
    told = [json.loads(value) for key, value in rows if key in there]
    return [HeartbeatReport.model_validate(h) for report in told for h in report["heartbeats"]]


def _are_heard(cluster: LivingCluster) -> bool:
    """Whether a record came back through each broker there is, lately."""
    brokers = {i.service_id for i in cluster.detail().instances if i.service == "broker"}
    return {h.broker for h in reports(cluster) if h.beats >= 2 and h.silent_s < 5} == brokers


def _most(latencies: Iterable[float | None]) -> float:
    return max((s for s in latencies if s is not None), default=0.0)
