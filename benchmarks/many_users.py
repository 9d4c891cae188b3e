"""10,000 users with five ACLs each, declared on a real cluster of three brokers that asks for passwords."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles
from typing import Any

import httpx
import psutil
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.loaded import FOUNDED_WITHIN_S
from controlplane.api.schemas import specs as spec_api
from controlplane.cli.address import locate
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster

USERS, A_FILE, ACLS = 10_000, 400, 5
APPLIED_S, TICK_S, PAGE_MS = 600.0, 2.0, 300.0
"""What it is held to."""
WATCHED_S, PAGES = 200.0, 60
"""Users are looked at once a minute: three looks."""
TICK_METRIC = "kedge_cluster_last_tick_seconds"
SPEC = ClusterSpec(
    name="crowded",
    tls=True,
    controllers=3,
    heap_mib=320,
    join_deadline_s=400,
    listeners=(
        {"name": "PLAINTEXT", "port": 9092},
        {"name": "SCRAM", "port": 9096, "security": "tls", "authentication": {"type": "scram-sha-512"}},
    ),
    authorization={"anonymous": "full"},
)


def many_users(scale: float) -> dict[str, Any]:
    """Seconds from the first file to the last user being as declared; the longest tick after that; pages of users."""
    count = max(A_FILE, round(USERS * scale))
    with tempfile.TemporaryDirectory(prefix="kedge-users-") as work:
        cluster = LivingCluster(Path(work) / "home", spec=SPEC)
        try:
            cluster.open(within_s=FOUNDED_WITHIN_S)
            began, server = time.monotonic(), psutil.Process(cluster.server.pid)
            before_s = _processor_s(server)
            for text in _files(count):
                declared = cluster.client.apply(spec_api.ApplyIn(text=text, file="users.yaml"))
                if not declared.ok:
                    raise RuntimeError(f"the users were refused: {declared.problems[:1]}")
            declared_s = time.monotonic() - began
            cluster.until(_Settling(cluster, count), "users as declared", timeout_s=4 * APPLIED_S, every_s=1)
            applied_s, server_s = time.monotonic() - began, _processor_s(server) - before_s
            pages = _pages_ms(cluster, count)
            ticks = _ticks_s(cluster)
        finally:
            cluster.close()
    return {
        "users": count,
        "acls": count * ACLS,
        "declared_s": round(declared_s, 1),
        "applied_s": round(applied_s, 1),
        "server_processor_s": round(server_s, 1),
        "converged_tick_s": round(max(ticks), 2),
        "ticks_seen": len(ticks),
        "page_p95_ms": round(quantiles(pages, n=20)[-1], 1),
        "floor": {"applied_s": APPLIED_S, "converged_tick_s": TICK_S, "page_p95_ms": PAGE_MS},
    }


def _processor_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _files(count: int) -> Iterator[str]:
    names = [f"app-{number:05d}" for number in range(count)]
    for first in range(0, count, A_FILE):
        yield "---\n".join(_document(name) for name in names[first : first + A_FILE])


def _document(name: str) -> str:
    return (
        f"apiVersion: kedge/v1alpha1\nkind: KafkaUser\nmetadata: {{name: {name}}}\nspec:\n  cluster: {SPEC.name}\n"
        "  authentication: {type: scram-sha-512}\n"
        "  authorization:\n    acls:\n"
        f"      - {{resource: {{type: topic, name: {name}}}, operations: [Read, Write, Describe]}}\n"
        f"      - {{resource: {{type: topic, name: shared-, patternType: prefix}}, operations: [Read]}}\n"
        f"      - {{resource: {{type: group, name: {name}-, patternType: prefix}}, operations: [Read]}}\n"
    )


class _Settling:
    """Whether all users were seen to be as declared, by what was recorded since it was last asked."""

    def __init__(self, cluster: LivingCluster, count: int) -> None:
        self._cluster, self._count = cluster, count
        self._position = 0
        self._settled: set[str] = set()

    def __call__(self) -> bool | None:
        events = self._cluster.events(self._position)
        self._position = events[-1].position if events else self._position
        for event in events:
            if event.type == "users.troubled":
                raise RuntimeError(f"users are in trouble: {str(event.data)[:300]}")
            self._settled |= set(event.data["settled"]) if event.type == "users.changed" else set()
        return len(self._settled) >= self._count or None


def _pages_ms(cluster: LivingCluster, count: int) -> list[float]:
    """The page of users of the portal and the list of the API, from all over the names."""
    address = locate({"KEDGE_HOME": str(cluster.home)}, cluster.home)
    found = []
    for number in range(PAGES):
        after = f"app-{number * count // PAGES:05d}"
        path = f"/v1/clusters/{SPEC.name}/users?limit=100&after={after}"
        began = time.monotonic()
        _get(f"{address.url}{path}", address.token.get_secret_value())
        found.append(1000 * (time.monotonic() - began))
    return found


def _ticks_s(cluster: LivingCluster) -> list[float]:
    """The last tick's seconds, each time another one was seen."""
    address = locate({"KEDGE_HOME": str(cluster.home)}, cluster.home)
    seen: list[float] = []
    over = time.monotonic() + WATCHED_S
    while time.monotonic() < over:
        text = _get(f"{address.url}/v1/metrics", address.token.get_secret_value())
        families = text_string_to_metric_families(text)
        (value,) = [s.value for f in families for s in f.samples if s.name == TICK_METRIC]
        if not seen or seen[-1] != value:
            seen.append(value)
        time.sleep(0.5)
    return seen


def _get(url: str, token: str) -> str:
    answer = httpx.get(url, headers={"Authorization": f"Bearer {token}"}, timeout=60, trust_env=False)
    return answer.raise_for_status().text
