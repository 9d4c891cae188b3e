"""People, agents and open pages of a benchmark, in a process of their own.

Reads one JSON object (see `Crowd`) and prints another: seconds to the last byte by path, and what else was answered.
"""

import asyncio
import json
import random
import ssl
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from subprocess import PIPE, run
from typing import Any, TypeVar

import httpx

_Who = TypeVar("_Who")
_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""One for all: it is not used here, and each client would read every CA of the machine for its own."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """`users` go through `paths` by chance and think between two; `agents` long-poll; `streams` are open pages."""

    url: str
    cookies: list[str]
    paths: list[str]
    seconds: float
    users: int = 20
    think_s: float = 1.0
    agents: list[dict[str, str]] = field(default_factory=list)
    credential: str = ""
    streams: int = 0


def played(crowd: Crowd) -> dict[str, Any]:
    """What the crowd met with. Raises RuntimeError when its process fails."""
    command = [sys.executable, "-c", "from benchmarks.portal.users import main; main()"]
    done = run(command, input=json.dumps(asdict(crowd)), text=True, stdout=PIPE, check=False)
    if done.returncode:
        raise RuntimeError(f"the crowd ended with {done.returncode}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


class _Play:
    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._ends = time.monotonic() + crowd.seconds
        self.seconds: dict[str, list[float]] = {path: [] for path in crowd.paths}
        self.answers: Counter[str] = Counter()
        self.changes = 0

    async def all(self) -> dict[str, Any]:
        # Each has a client of their own, as in life. One pool for all asks every idle connection at each request
        # whether it still is one: with 500 agents that took this process seconds, counted as the server's.
        waiting = [asyncio.create_task(self._alone(self._agent, vm)) for vm in self._crowd.agents]
        waiting += [asyncio.create_task(self._alone(self._stream, n)) for n in range(self._crowd.streams)]
        await asyncio.sleep(5.0 if waiting else 0.0)  # everybody is in before it counts
        self._ends = time.monotonic() + self._crowd.seconds
        await asyncio.gather(*(self._alone(self._user, n) for n in range(self._crowd.users)))
        held = sum(not task.done() for task in waiting)
        for task in waiting:
            task.cancel()
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        failed = [repr(e) for e in ended if isinstance(e, Exception)]
        return {
            "seconds": self.seconds,
            "answers": dict(self.answers),
            "held": held,
            "failed": failed,
            "changes": self.changes,
        }

    async def _alone(self, part: Callable[[httpx.AsyncClient, _Who], Awaitable[None]], who: _Who) -> None:
        async with httpx.AsyncClient(base_url=self._crowd.url, timeout=90, verify=_NO_TLS) as client:
            await part(client, who)

    async def _user(self, client: httpx.AsyncClient, number: int) -> None:
        chance = random.Random(number)
        headers = {"Cookie": self._crowd.cookies[number % len(self._crowd.cookies)], "Accept": "text/html"}
        await asyncio.sleep(chance.uniform(0, self._crowd.think_s))
        while time.monotonic() < self._ends:
            path = chance.choice(self._crowd.paths)
            began = time.monotonic()
            answer = await client.get(path, headers=headers)
            self.seconds[path].append(time.monotonic() - began)
            self.answers[str(answer.status_code)] += 1
            await asyncio.sleep(self._crowd.think_s)

    async def _agent(self, client: httpx.AsyncClient, vm: dict[str, str]) -> None:
        instance = f"{vm['cluster']}/{vm['node']}.g{vm['generation']}"
        headers = {"Authorization": f"Bearer {self._crowd.credential}", "X-Kedge-Instance": instance}
        etag = ""
        while True:
            asked = {**vm, "etag": etag, "wait_s": "25"}
            answer = await client.get("/agent/v1/document", params=asked, headers=headers)
            if answer.status_code not in (200, 304):
                raise RuntimeError(f"an agent was answered {answer.status_code}")
            etag = answer.headers["ETag"].strip('"')

    async def _stream(self, client: httpx.AsyncClient, number: int) -> None:
        headers = {"Cookie": self._crowd.cookies[number % len(self._crowd.cookies)], "Accept": "text/event-stream"}
        async with client.stream("GET", "/live", headers=headers) as answer:
            if answer.status_code != 200:
                raise RuntimeError(f"a stream was answered {answer.status_code}")
            async for line in answer.aiter_lines():
                self.changes += line == "event: changed"


def main() -> None:
    """What the process does."""
    print(json.dumps(asyncio.run(_Play(Crowd(**json.load(sys.stdin))).all())))
