"""From a commit to the portal: the real git, the real handlers, a store on SQLite."""

import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from controlplane.background.git_sync.binding import GitBinding
from controlplane.background.git_sync.clone import Clone
from controlplane.background.git_sync.status import SourceStatuses
from controlplane.background.git_sync.sync import SourceSync, SyncParts
from controlplane.runtime.egress import Egress
from controlplane.runtime.polling import Poller
from controlplane.storage import migrate
from events.engine import build_engine
from events.sql_store import SqlEventStore
from tests.contract.git_repositories import Upstream
from tests.unit.controlplane.api.portal_house import House, Lead
from tests.unit.controlplane.background.git_sync.git_house import named

POLL_S, COMMITS = 5.0, 4
PLAN_S, FILES, FILES_S = 10.0, 1_000, 30.0


def git(scale: float) -> dict[str, Any]:
    """Seconds of the slowest of some commits until a page has its plan; seconds for a commit of many files."""
    with tempfile.TemporaryDirectory(prefix="kedge-commits-") as work:
        folder = Path(work)
        house = _house(folder)
        upstream = Upstream(folder)
        stop = threading.Event()
        sync = _sync(house, upstream, folder, stop)
        poller = Poller({"teams": sync}, {"teams": POLL_S}, leadership=Lead(), stop=stop)
        try:
            poller.start()
            waits = [_until_planned(house, upstream, n) for n in range(max(2, round(COMMITS * scale)))]
            poller.stop()
            stop.clear()
            files_s = _many(house, upstream, _sync(house, upstream, folder, stop))
        finally:
            stop.set()
    return {
        "plan_worst_s": round(max(waits), 1),
        "commits": len(waits),
        "files": FILES,
        "files_s": round(files_s, 1),
        "floor": {"plan_worst_s": PLAN_S, "files_s": FILES_S},
    }


def _house(folder: Path) -> House:
    url = f"sqlite:///{folder}/events.db"
    migrate.upgrade(url)
    return House(store=SqlEventStore(build_engine(url)))


def _sync(house: House, upstream: Upstream, folder: Path, stop: threading.Event) -> SourceSync:
    binding = GitBinding(name="teams", repository=str(upstream.bare))
    statuses = SourceStatuses((binding,))
    parts = SyncParts(
        store=house.store,
        commands=house.services.cluster.commands,
        pairs=house.failovers,
        fleet=house.converger,
        wake=house.woken.append,
        may_act=lambda: True,
        statuses=statuses,
        clock=lambda: house.now,
    )
    return SourceSync(
        binding, Clone(binding, folder / "clone", local_paths=(folder,), stop=stop, egress=Egress()), parts
    )


def _until_planned(house: House, upstream: Upstream, number: int) -> float:
    """Commits come at any moment between two polls."""
    time.sleep(1.3 * number)
    name = f"bench-{number}"
    upstream.push({f"{name}.yaml": named(name)})
    began = time.monotonic()
    while time.monotonic() - began < 60:
        answer = house.client.get(f"/v1/clusters/{name}")
        if answer.status_code == 200 and answer.json()["pending"]:
            return time.monotonic() - began
        house.converger.catch_up()
        time.sleep(0.1)
    raise AssertionError(f"the plan of {name} is not there after a minute")


def _many(house: House, upstream: Upstream, sync: SourceSync) -> float:
    upstream.push({f"many/c{n:04d}.yaml": named(f"many-{n:04d}") for n in range(FILES)})
    began = time.monotonic()
    sync.poll()
    seconds = time.monotonic() - began
    house.converger.catch_up()
    declared = sum(view.name.startswith("many-") for view in house.converger.views())
    if declared != FILES:
        raise AssertionError(f"{declared} of {FILES} were declared")
    return seconds
