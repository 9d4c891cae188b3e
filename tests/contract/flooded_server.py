"""A real server with few descriptors, on a home in which many VMs are known, and people who use it meanwhile."""

import hashlib
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles

import httpx

from controlplane.storage import migrate
from controlplane.storage.agent_credentials import SqlCredentialStore, Vm as CredentialVm
from controlplane.storage.home import Home
from events import facts
from events.engine import build_engine
from events.ids import IntentId, NodeName, kafka_uuid
from events.sql_store import SqlEventStore
from tests.contract.agent_crowd import Vm
from tests.contract.test_api_server import PAUSED
from tests.unit.controlplane.api.portal_house import House, broker

CREDENTIAL = "what an agent made"
OF_A_CLUSTER = 100


def known_vms(home: Home, count: int, *, url: str = "", rest: bool = False) -> list[Vm]:
    """Makes a database in which so many VMs of paused clusters run and are enrolled with `CREDENTIAL`: that of the
    home, where no other is given. They have work in hand, or `rest`.
    """
    home.path.mkdir(parents=True, exist_ok=True)
    url = url or f"sqlite:///{home.path / 'kedge.db'}"
    migrate.upgrade(url)
    engine = build_engine(url, durable=False)
    house, credentials = House(store=SqlEventStore(engine)), SqlCredentialStore(engine)
    digest, vms = hashlib.sha256(CREDENTIAL.encode()).hexdigest(), list[Vm]()
    for first in range(0, count, OF_A_CLUSTER):
        name = f"orders-{first}"
        house.apply(PAUSED.replace("name: orders", f"name: {name}", 1))
        uid = house.view(name).uid
        planned = [broker(f"brokers-a-{n}", 1000 + n) for n in range(min(OF_A_CLUSTER, count - first))]
        launched = tuple(facts.LaunchedInstance(p.key, f"vm-{p.key}", f"127.65.0.{n}") for n, p in enumerate(planned))
        house.record(facts.SurgeRequested("intent-1", tuple(planned), "test"), name=name)
        voter = facts.FoundingVoter("controllers-a-0", 100, "127.65.1.1", 9093, kafka_uuid("voter", uid))
        founded = facts.QuorumFounded(kafka_uuid("kafka", uid), "4.1", (voter,))
        house.record(facts.SurgeCompleted("intent-1", launched, {}), founded, name=name)
        if rest:
            joined = (facts.InstanceJoined(p.key, p.service_id) for p in planned)
            house.record(*joined, facts.RecycleCompleted(house.view(name).generation), name=name)
        for one in planned:
            vm = CredentialVm(uid, NodeName(one.node), 1)
            credentials.enroll(vm, credential_sha256=digest, intent_id=IntentId("intent-1"))
            vms.append(Vm(uid, one.node, 1))
    engine.dispose()
    return vms


@dataclass
class People:
    """Some people who ask for pages and for the API, each on a new connection, until `end`."""

    url: str
    token: str
    users: int = 3
    think_s: float = 0.2
    paths: tuple[str, ...] = ("/", "/v1/clusters", "/loop", "/v1/version")
    seconds: list[float] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._use, args=(n,), daemon=True) for n in range(self.users)]
        for thread in self._threads:
            thread.start()

    def taken(self) -> tuple[list[float], Counter[str]]:
        """What came since the last call: seconds to the last byte, and statuses."""
        with self._lock:
            taken, self.seconds = self.seconds, []
            answers, self.answers = self.answers, Counter()
        return taken, answers

    def end(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(30)

    def _use(self, number: int) -> None:
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "text/html", "Connection": "close"}
        turn = number
        while not self._over.is_set():
            path, began_s = self.paths[turn % len(self.paths)], time.monotonic()
            turn += 1
            try:
                status = str(httpx.get(self.url + path, headers=headers, timeout=30, trust_env=False).status_code)
            except httpx.HTTPError as error:
                status = type(error).__name__
            with self._lock:
                self.seconds.append(time.monotonic() - began_s)
                self.answers[status] += 1
            self._over.wait(self.think_s)


def of_people(taken: tuple[list[float], Counter[str]]) -> dict[str, object]:
    """p50 and p95 in seconds, and what was answered."""
    seconds, answers = taken
    cuts = quantiles(seconds, n=20) if len(seconds) > 1 else [0.0] * 19
    told = {"requests": len(seconds), "answers": dict(answers)}
    return {**told, "p50_s": round(cuts[9], 3), "p95_s": round(cuts[18], 3), "worst_s": round(max(seconds), 3)}


def rss_mib(pid: int) -> int:
    """Memory of a process."""
    (line,) = [one for one in Path(f"/proc/{pid}/status").read_text().splitlines() if one.startswith("VmRSS")]
    return int(line.split()[1]) // 1024
