"""Brokers with thousands of partitions on a machine that others keep busy: whatever Kedge does to them is one act too
many, since every broker advances."""

import os
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from agent.wire import ProgressReport, Report
from benchmarks.watched import conditions_raised
from controlplane.api.schemas import conditions as condition_api
from controlplane.cluster.observed.agent_reports import AGENT_REPORT
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

PARTITIONS, REPLICAS, MIN_ISR = 4000, 3, 2
BUSY_S = 900.0
BURNERS_PER_CPU = 8
LOOK_EVERY_S = 5.0
PULSE_EVERY_S, PULSE_PARTITIONS = 120.0, 100
"""A topic of so many partitions comes and goes meanwhile, so that there is always metadata to apply."""

ACTS = (
    "healing.requested",
    "restart.requested",
    "rolling_restart.requested",
    "node.replace_requested",
    "surge.requested",
    "instance.lost",
    "move_cure.requested",
    "election_cure.requested",
    "controller_election.requested",
    "broker.demote_requested",
    "rebalance.requested",
)
"""Events that mean something is done to a cluster of which nobody asked anything."""

_BURN = "import time\nends = time.monotonic() + {seconds}\nwhile time.monotonic() < ends:\n    sum(range(100000))\n"


def busy(cluster: LivingCluster, scale: float) -> dict[str, Any]:
    """`BUSY_S` times `scale` seconds from the order for a topic of `PARTITIONS`, with burners from before it on."""
    seconds, before = BUSY_S * scale, cluster.head()
    seen = _Seen()
    with traffic(cluster.bootstrap, may_fall_below_min_isr=True) as workload, _burning(seconds + 60.0) as burners:
        began = time.monotonic()
        admin = AdminClient({"bootstrap.servers": ",".join(cluster.bootstrap()), "log_level": 0})
        # The controllers have it at once; that all brokers have applied it takes minutes, which is the point.
        made = admin.create_topics([_topic("many", PARTITIONS)], request_timeout=120.0)["many"]
        made.result(150)
        pulse = _Pulse(admin)
        while time.monotonic() - began < seconds:
            seen.look(cluster, time.monotonic() - began)
            pulse.beat(time.monotonic())
            time.sleep(LOOK_EVERY_S)
        assert all(b.poll() is None for b in burners), "the load ended too early"
    events = cluster.events(before)
    acts = [e for e in events if e.type in ACTS]
    return {
        "seconds": round(seconds),
        "partitions": PARTITIONS,
        "burners": len(burners),
        "load": seen.load,
        "acts": len(acts),
        "acted": [f"{e.type} {e.data.get('key', '')}: {e.data.get('reason', '')}" for e in acts],
        "findings": sorted(seen.findings),
        "left_alone": sorted(seen.reasons),
        "lag_at_most_s": seen.lag_s,
        "lagging": dict(seen.lagging),
        "conditions": conditions_raised(events),
        "acknowledged": workload.acknowledged,
        "lost": 0,
        "holds": not acts,
    }


class _Seen:
    """The worst, and all reasons, of the looks so far."""

    def __init__(self) -> None:
        self.load = self.lag_s = 0.0
        self.findings: set[str] = set()
        self.reasons: set[str] = set()
        self.lagging: Counter[str] = Counter()
        """Reports of brokers that lag, by what their agents say of how far they come."""

    def look(self, cluster: LivingCluster, at_s: float) -> None:
        self.load = max(self.load, os.getloadavg()[0])
        detail = cluster.detail()
        for instance in detail.instances:
            for finding in instance.findings:
                self.findings.add(finding.name)
                self.lag_s = max(self.lag_s, finding.numbers.get("lag_s", 0.0))
        condition = next((c for c in detail.conditions if c.type == "Ailing" and c.status), None)
        if condition is not None:
            self.reasons.add(f"{condition.reason}: {condition.message}")
        said = list(_progress_of_lagging(cluster))
        self.lagging.update(_kind(progress) for progress in said)
        lag = "; ".join(", ".join(f"{p.name} +{p.advanced:.0f} in {p.over_s:.0f} s" for p in ps) for ps in said)
        print(f"{at_s:5.0f} s, load {os.getloadavg()[0]:.0f}: [{lag}] {_words(condition)}", flush=True)


def _progress_of_lagging(cluster: LivingCluster) -> Iterator[tuple[ProgressReport, ...]]:
    """Of each broker whose agent finds its metadata old, how far it comes with it."""
    with closing(sqlite3.connect(f"file:{cluster.home / 'kedge.db'}?mode=ro", uri=True, timeout=5)) as database:
        rows = database.execute("SELECT value FROM latest WHERE kind = ?", (AGENT_REPORT,)).fetchall()
    for (value,) in rows:
        for service in Report.model_validate_json(value).services:
            if any(f.name == "metadata_lag" for f in service.findings):
                yield tuple(p for p in service.progress if p.name in ("metadata", "partitions"))


def _kind(progress: Sequence[ProgressReport]) -> str:
    advancing = "+".join(p.name for p in progress if p.advanced > 0)
    return advancing or ("stands still" if len(progress) == 2 else "not known")


def _words(condition: condition_api.ConditionOut | None) -> str:
    return "" if condition is None else f"{condition.reason}: {condition.message}"


class _Pulse:
    """A topic that comes and goes; what Kafka does not do in time is tried at the next beat."""

    def __init__(self, admin: AdminClient) -> None:
        self._admin, self._beaten_s, self._count = admin, time.monotonic(), 0

    def beat(self, now_s: float) -> None:
        if now_s - self._beaten_s < PULSE_EVERY_S:
            return
        self._beaten_s, self._count = now_s, self._count + 1
        name = f"pulse-{self._count}"
        self._admin.create_topics([_topic(name, PULSE_PARTITIONS)], request_timeout=60.0)
        if self._count > 1:
            self._admin.delete_topics([f"pulse-{self._count - 1}"], request_timeout=60.0)


def _topic(name: str, partitions: int) -> NewTopic:
    return NewTopic(name, partitions, REPLICAS, config={"min.insync.replicas": str(MIN_ISR)})


@contextmanager
def _burning(at_most_s: float) -> Iterator[Sequence[subprocess.Popen[bytes]]]:
    """Processes that only burn CPU, each for a bounded time; those that are left are ended, one by one, by their id."""
    code = _BURN.format(seconds=at_most_s)
    count = BURNERS_PER_CPU * len(os.sched_getaffinity(0))
    burners = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(count)]
    try:
        yield burners
    finally:
        for burner in burners:
            burner.terminate()
            burner.wait(10)
