"""Many agents at once, in a process of their own: each speaks the wire of `agent.talk` on two connections, one for its
reports and one for the question that is held, and behaves as an agent does when it is sent away or not answered.

Reads one JSON object (see `Crowd`) and prints another: what was answered, and how often. `python -m` starts it.
"""

import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from statistics import quantiles
from subprocess import PIPE, Popen
from typing import Any

from agent.backoff import Backoff
from agent.settings import AgentTimes
from controlplane.runtime.descriptors import raise_limit

TIMEOUT_S = 10.0
"""`agent.client`'s own."""
TIMES = AgentTimes()
POLL_S, REPORT_EVERY_S = TIMES.poll_wait_s, TIMES.report_every_s


@dataclass(frozen=True, slots=True)
class Vm:
    """One agent's: as `X-Kedge-Instance` names it."""

    cluster: str
    node: str
    generation: int

    @property
    def instance(self) -> str:
        return f"{self.cluster}/{self.node}.g{self.generation}"


@dataclass(frozen=True, slots=True)
class Crowd:
    """All come within `arrive_s`, and go after `seconds`. `credential` is the same for all."""

    port: int
    vms: Sequence[Vm]
    credential: str
    seconds: float
    arrive_s: float = 2.0
    host: str = "127.0.0.1"
    report_every_s: float = REPORT_EVERY_S
    paced: bool = False
    """Whether agents follow the pace they are asked for; else they report every `report_every_s`."""


def let_in(crowd: Crowd) -> "Popen[str]":
    """Starts it; `outcome` waits for its end."""
    command = [sys.executable, "-m", "tests.contract.agent_crowd"]
    process = Popen(command, stdin=PIPE, stdout=PIPE, text=True)
    assert process.stdin is not None
    process.stdin.write(json.dumps(asdict(crowd)))
    process.stdin.close()
    return process


def outcome(process: "Popen[str]", within_s: float) -> dict[str, Any]:
    """What the crowd met with. Raises RuntimeError when its process fails."""
    assert process.stdout is not None
    told = process.stdout.read()
    if process.wait(within_s):
        raise RuntimeError(f"the crowd ended with {process.returncode}")
    answer: dict[str, Any] = json.loads(told)
    return answer


class _Play:
    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self.answers: Counter[str] = Counter()
        self.reported: dict[str, float] = {}
        """When each was heard the first time, in seconds since the epoch."""
        self.shed_waits_s: list[float] = []
        self.reports_s: list[float] = []
        """From the first byte of a report to the last of its answer."""
        self.heard: list[tuple[str, float]] = []
        """Instances that were given another document than before, and when, in seconds since the epoch."""

    async def all(self) -> dict[str, Any]:
        began_s = time.monotonic()
        tasks = [asyncio.create_task(talk) for vm in self._crowd.vms for talk in (self._reports(vm), self._asks(vm))]
        await asyncio.sleep(self._crowd.seconds)
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        failed = [repr(e) for e in ended if isinstance(e, Exception)]
        return {
            "answers": dict(self.answers),
            "agents_heard": len(self.reported),
            "heard_at": sorted(self.reported.values()),
            "longest_wait_to_be_shed_s": round(max(self.shed_waits_s, default=0.0), 2),
            "reports": _cuts(self.reports_s),
            "heard": self.heard,
            "seconds": round(time.monotonic() - began_s, 1),
            "failed": failed[:5],
        }

    async def _reports(self, vm: Vm) -> None:
        seq = 0
        line, chance = _Line(self._crowd), random.Random(vm.instance)
        backoff = Backoff(TIMES.retry_s, TIMES.retry_cap_s)
        await asyncio.sleep(chance.uniform(0, self._crowd.arrive_s))
        while True:
            seq += 1
            status, after_s = await self._call(line, "report", _report(self._crowd, vm, seq), TIMEOUT_S)
            if status == 200:
                self.reported.setdefault(vm.instance, time.time())
                backoff.reset()
                asked_s = line.next_s if self._crowd.paced else 0.0
                await asyncio.sleep(max(asked_s, self._crowd.report_every_s))
            else:
                await asyncio.sleep(backoff.next_s(after_s=after_s))

    async def _asks(self, vm: Vm) -> None:
        etag, line, chance = "", _Line(self._crowd), random.Random(vm.node + vm.cluster)
        backoff = Backoff(TIMES.retry_s, TIMES.retry_cap_s)
        await asyncio.sleep(chance.uniform(0, self._crowd.arrive_s))
        while True:
            asked = _question(self._crowd, vm, etag)
            status, after_s = await self._call(line, "document", asked, POLL_S + TIMEOUT_S)
            if status in (200, 304):
                if status == 200 and etag:
                    self.heard.append((vm.instance, time.time()))
                etag = line.etag or etag
                backoff.reset()
                await asyncio.sleep(0.1)
            else:
                await asyncio.sleep(backoff.next_s(after_s=after_s))

    async def _call(self, line: "_Line", what: str, request: bytes, within_s: float) -> tuple[int, float]:
        began_s = time.monotonic()
        try:
            async with asyncio.timeout(within_s):
                status, after_s = await line.call(request)
        except (OSError, EOFError, TimeoutError, asyncio.IncompleteReadError) as error:
            line.close()
            self.answers[f"{what} {type(error).__name__}"] += 1
            return 0, 0.0
        self.answers[f"{what} {status}"] += 1
        taken_s = time.monotonic() - began_s
        if status == 503:
            self.shed_waits_s.append(taken_s)
        elif what == "report":
            self.reports_s.append(taken_s)
        return status, after_s


class _Line:
    """One connection, kept while the server keeps it."""

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._ends: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.etag = ""
        self.next_s = 0.0

    async def call(self, request: bytes) -> tuple[int, float]:
        """Status and seconds of `Retry-After`, 0 without one."""
        if self._ends is None:
            self._ends = await asyncio.open_connection(self._crowd.host, self._crowd.port)
        reader, writer = self._ends
        writer.write(request)
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        body = await reader.readexactly(int(fields.get("content-length", "0")))
        if b'"next_s"' in body:
            self.next_s = json.loads(body)["next_s"]
        self.etag = fields.get("etag", "").removeprefix("w/").strip('"')
        if fields.get("connection") == "close":
            self.close()
        return int(head.split(" ", 2)[1]), float(fields.get("retry-after", "0"))

    def close(self) -> None:
        ends, self._ends = self._ends, None
        if ends is not None:
            with suppress(OSError):
                ends[1].close()


def _cuts(seconds: list[float]) -> dict[str, float]:
    cuts = quantiles(seconds, n=20) if len(seconds) > 1 else [0.0] * 19
    return {"count": len(seconds), "p50_s": round(cuts[9], 4), "p95_s": round(cuts[18], 4)}


def _head(crowd: Crowd, vm: Vm, first: str) -> str:
    who = f"Authorization: Bearer {crowd.credential}\r\nX-Kedge-Instance: {vm.instance}\r\n"
    return f"{first} HTTP/1.1\r\nHost: {crowd.host}:{crowd.port}\r\n{who}"


def _question(crowd: Crowd, vm: Vm, etag: str) -> bytes:
    asked = f"cluster={vm.cluster}&node={vm.node}&generation={vm.generation}&etag={etag}&wait_s={POLL_S:g}"
    return f"{_head(crowd, vm, f'GET /agent/v1/document?{asked}')}\r\n".encode()


def report_body(vm: Vm, seq: int) -> bytes:
    """A report of a broker at rest, as JSON."""
    service = {
        "name": "broker",
        "state": "running",
        "start_id": "s1",
        "kafka_version": "4.1.1",
        "since": "2026-01-01T00:00:00Z",
        "log_dirs": [{"name": "data", "total_bytes": 10**11, "free_bytes": 5 * 10**10, "partitions": 120}],
        "metrics": {f"metric_{n}": float(n) for n in range(20)},
    }
    told = {
        "wire": 1,
        "cluster_uid": vm.cluster,
        "node": vm.node,
        "generation": vm.generation,
        "boot_id": "b1",
        "seq": seq,
        "at": "2026-01-01T00:00:00Z",
        "agent_version": "0",
        "epoch": 1,
        "services": [service],
        "digest": "d1",
    }
    return json.dumps(told).encode()


def _report(crowd: Crowd, vm: Vm, seq: int) -> bytes:
    body = report_body(vm, seq)
    head = f"{_head(crowd, vm, 'POST /agent/v1/report')}Content-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


def main() -> None:
    """What the process does."""
    raise_limit()
    asked = json.load(sys.stdin)
    crowd = Crowd(**{**asked, "vms": [Vm(**vm) for vm in asked["vms"]]})
    print(json.dumps(asyncio.run(_Play(crowd).all())))


if __name__ == "__main__":
    main()
