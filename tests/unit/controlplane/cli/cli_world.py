"""A command line without a machine: a server in memory, a clock that only sleeping moves, terminals by switch."""

import json
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from pydantic import BaseModel
from typer.testing import Result

from controlplane.api.schemas import (
    clusters as api,
    conditions as condition_api,
    instances as instance_api,
    messages as message_api,
    specs as spec_api,
)
from controlplane.api.trouble import why
from controlplane.cli.surroundings import Surroundings
from tests.unit.controlplane.cli.invoked import kedge

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TOKEN = "s3cret-token"
URL = "http://127.0.0.1:8428"
SNAPSHOTS = Path(__file__).parent / "snapshots"

Answer = BaseModel | list[BaseModel] | httpx.Response
Route = Callable[[httpx.Request], Answer]


class FakeTime:
    """Time that passes only in `sleep`. `interrupt_after` sleeps it is Ctrl-C."""

    def __init__(self) -> None:
        self.elapsed_s = 0.0
        self.sleeps: list[float] = []
        self.interrupt_after: int | None = None

    def sleep(self, seconds: float) -> None:
        if self.interrupt_after is not None and len(self.sleeps) >= self.interrupt_after:
            raise KeyboardInterrupt
        self.sleeps.append(seconds)
        self.elapsed_s += seconds

    def monotonic(self) -> float:
        return self.elapsed_s

    def utc_now(self) -> datetime:
        return START + timedelta(seconds=self.elapsed_s)


class FakeServer:
    """Answers requests by (method, path). A list of answers is given out one by one; the last one stays."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.routes: dict[tuple[str, str], list[Answer | Exception]] = {}

    def on(self, method: str, path: str, *answers: Answer | Exception) -> None:
        self.routes[method, f"/v1{path}"] = list(answers)

    def cluster(self, *answers: api.ClusterDetailOut | Exception | httpx.Response) -> None:
        """What successive looks at a cluster show; the list of clusters shows the first."""
        first = next(look for look in answers if isinstance(look, api.ClusterDetailOut))
        self.on("GET", f"/clusters/{first.name}", *answers)
        shorts = [api.ClusterOut.model_validate(first.model_dump(include=set(api.ClusterOut.model_fields)))]
        self.on("GET", "/clusters", list(shorts))

    def plans(self, *answers: spec_api.PlansOut) -> None:
        self.on("POST", "/plan", *answers)

    def bodies(self, method: str, path: str) -> list[dict[str, Any]]:
        """The JSON bodies sent there."""
        sent = [r for r in self.requests if (r.method, r.url.path) == (method, f"/v1{path}")]
        return [json.loads(r.content) for r in sent]

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answers = self.routes.get((request.method, request.url.path))
        if not answers:
            return problem(404, "cluster-not-found", "there is no such thing")
        answer = answers[0] if len(answers) == 1 else answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, httpx.Response):
            return answer
        if isinstance(answer, list):
            return httpx.Response(200, json=[item.model_dump(mode="json") for item in answer])
        return httpx.Response(200, json=answer.model_dump(mode="json"))


@dataclass
class World:
    """A home directory, a server, a clock. `run` is one command."""

    home: Path
    server: FakeServer = field(default_factory=FakeServer)
    time: FakeTime = field(default_factory=FakeTime)
    read_line: Callable[[], str] = lambda: sys.stdin.readline()
    environ: dict[str, str] = field(default_factory=lambda: {"USER": "ada"})

    def __post_init__(self) -> None:
        home = self.home / ".kedge"
        home.mkdir(exist_ok=True)
        (home / "server.json").write_text(json.dumps({"url": URL, "pid": 1}))
        (home / "token").write_text(TOKEN + "\n")

    def run(
        self,
        *arguments: str,
        typed: str = "",
        stdin: bool = False,
        stdout: bool = False,
        stderr: bool = False,
        transport: httpx.BaseTransport | None = None,
    ) -> Result:
        """Runs `kedge ARGUMENTS`; `stdin`, `stdout`, `stderr` say which of them is a terminal."""
        around = Surroundings(
            environ=self.environ,
            cwd=self.home,
            transport=transport or httpx.MockTransport(self.server),
            utc_now=self.time.utc_now,
            monotonic=self.time.monotonic,
            sleep=self.time.sleep,
            read_line=self.read_line,
            stdin_is_terminal=stdin,
            stdout_is_terminal=stdout,
            stderr_is_terminal=stderr,
        )
        return kedge(*arguments, typed=typed, around=around)

    def terminal(self, *arguments: str, typed: str = "") -> Result:
        """Runs it with a person in front of it."""
        return self.run(*arguments, typed=typed, stdin=True, stdout=True, stderr=True)

    def spec(self, text: str = "kind: KafkaCluster\n", name: str = "orders.yaml") -> str:
        """A spec file; the fake server does not read it."""
        path = self.home / name
        path.write_text(text)
        return str(path)


def problem(status: int, code: str, title: str, *, detail: str = "", next_step: str = "") -> httpx.Response:
    """An error as the server sends it."""
    body = message_api.ErrorOut(title=title, status=status, detail=detail, code=code, next=next_step)
    return httpx.Response(status, content=body.model_dump_json(), headers={"content-type": "application/problem+json"})


def snapshot(name: str, text: str) -> None:
    """Compares with the committed snapshot. `UPDATE_SNAPSHOTS=1` writes it anew; the diff is then to be read."""
    path = SNAPSHOTS / name
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert path.is_file(), f"no snapshot {name}: run with UPDATE_SNAPSHOTS=1 and read what it writes"
    assert text == path.read_text()


def instance(key: str, phase: str = "joined", **changes: Any) -> instance_api.InstanceOut:
    """An instance by its key, as in `brokers-a-0.g1`."""
    node, _, generation = key.rpartition(".g")
    service = "controller" if node.startswith("controllers") else "broker"
    fields: dict[str, Any] = {
        "key": key,
        "node": node,
        "generation": int(generation),
        "pool": node.split("-")[0],
        "rack": node.split("-")[1],
        "service": service,
        "service_id": 999 + int(generation) if service == "broker" else 100,
        "kafka_version": "4.1.1",
        "shape": "small",
        "phase": phase,
        "since": START - timedelta(minutes=5),
        "address": "127.77.0.11",
        "cloud_id": f"vm-{key}",
        "lost": False,
        "replaces": "",
        "reported_state": "running",
        "report_age_s": 1.2,
    }
    return instance_api.InstanceOut(**fields | changes)


def condition(kind: str, status: bool = True, reason: str = "", message: str = "") -> condition_api.ConditionOut:
    reason = reason or ("Reached" if status else "Working")
    return condition_api.ConditionOut(
        type=kind, status=status, reason=reason, message=message, since=START - timedelta(hours=1)
    )


def step(node: str, change: str = "replace", **changes: Any) -> spec_api.StepOut:
    fields: dict[str, Any] = {
        "change": change,
        "node": node,
        "rack": node.split("-")[1],
        "service": "broker",
        "reason": f"{node}: Kafka 4.1.1 -> 4.2.0",
        "how": ["surge", "join", "drain", "linger", "fence", "retire old"],
        "bytes": 12 * 2**20,
        "seconds": 75.0,
    }
    return spec_api.StepOut(**fields | changes)


def plan_of(name: str = "orders", *, digest: str = "aaa-bbb-ccc", **changes: Any) -> spec_api.PlanOut:
    """A version roll of one broker."""
    fields: dict[str, Any] = {
        "cluster": name,
        "exists": True,
        "generation": 2,
        "changes": [
            spec_api.FieldChangeOut(path="spec.kafka.version", old="4.1.1", new="4.2.0", field_class="static"),
        ],
        "phases": [spec_api.PhaseOut(name="replace 1 broker in a", parallel=False, steps=[step("brokers-a-0")])],
        "bytes": 12 * 2**20,
        "sizes_age_s": 2.0,
        "seconds": 75.0,
        "warnings": [],
        "digest": digest,
    }
    return spec_api.PlanOut(**fields | changes)


def plans_of(*plans: spec_api.PlanOut, problems: Iterable[spec_api.ProblemOut] = ()) -> spec_api.PlansOut:
    told = list(problems)
    ok = not any(p.severity == "error" for p in told)
    return spec_api.PlansOut(ok=ok, problems=told, plans=list(plans), digest="+".join(p.digest for p in plans))


def no_change(name: str = "orders") -> spec_api.PlanOut:
    return plan_of(name, generation=1, changes=[], phases=[], bytes=0, seconds=0.0)


def applied(
    name: str = "orders", *, generation: int = 2, changed: bool = True, created: bool = False
) -> spec_api.ApplyOut:
    one = spec_api.AppliedOut(cluster=name, uid="u1", generation=generation, changed=changed, created=created)
    return spec_api.ApplyOut(ok=True, problems=[], applied=[one], plans=[plan_of(name)])


def spec_problem(severity: str = "error") -> spec_api.ProblemOut:
    return spec_api.ProblemOut(
        file="orders.yaml",
        line=7,
        column=3,
        code="KEDGE-SPEC-020",
        severity=severity,
        message="`sze` is not a key of a pool",
        fix="Did you mean `size`? Remove the key otherwise.",
    )


def detail(name: str = "orders", **changes: Any) -> api.ClusterDetailOut:
    """A converged cluster of three brokers."""
    fields: dict[str, Any] = {
        "name": name,
        "uid": "u1",
        "generation": 2,
        "converged_generation": 2,
        "kafka_version": "4.1.1",
        "status": "Converged",
        "sentence": "converged at generation 2: 6 VMs",
        "sentence_at": START,
        "brokers": 3,
        "controllers": 3,
        "desired_brokers": 3,
        "desired_controllers": 3,
        "paused": "",
        "declared_at": START - timedelta(days=1),
        "conditions": [condition("Converged")],
        "instances": [instance(f"brokers-{rack}-0.g1") for rack in "abc"],
        "drain": None,
        "pending": [],
        "features": {"metadata.version": 27},
        "under_min_isr": 0,
        "under_replicated": 0,
        "partitions": 42,
        "metadata_age_s": 2.0,
        "document": {"spec": {"deletionPolicy": "destroy"}},
        "stream_version": 17,
    }
    told = api.ClusterDetailOut(**fields | changes)
    return told.model_copy(update={"why": why(told)})  # as the server does


def rolling(name: str = "orders", **changes: Any) -> api.ClusterDetailOut:
    """The same cluster while its first broker is drained."""
    fields: dict[str, Any] = {
        "converged_generation": 1,
        "status": "Working",
        "sentence": "drain of brokers-a-0.g1: batch 2 of 5, 12 moves left",
        "conditions": [condition("Converged", status=False, message="generation 2")],
        "instances": [
            instance("brokers-a-0.g1", "draining"),
            instance("brokers-a-0.g2", replaces="brokers-a-0.g1", kafka_version="4.2.0"),
            instance("brokers-b-0.g1"),
            instance("brokers-c-0.g1"),
        ],
        "drain": condition_api.DrainOut(
            keys=["brokers-a-0.g1"],
            outgoing=[1000],
            round=1,
            engine="spark",
            moves=36,
            bytes=12 * 2**20,
            batch=1,
            batches=5,
        ),
        "pending": [step("brokers-a-0"), step("brokers-b-0")],
    }
    return detail(name, **fields | changes)


def event(position: int, kind: str = "drain.planned", **changes: Any) -> api.EventOut:
    fields: dict[str, Any] = {
        "position": position,
        "version": position - 10,
        "type": kind,
        "at": START + timedelta(seconds=position),
        "actor": "converger",
        "data": {"drain": "d1", "moves": 36, "keys": ["brokers-a-0.g1"]},
    }
    return api.EventOut(**fields | changes)
