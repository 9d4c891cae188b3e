"""How many agents a server carries on one core, and what one report costs it.

    python -m benchmarks door [--agents N,N,..] [--seconds S] [--report-every S] [--rest] [--row back] [--out FILE]

A real server on a home of its own, without Kafka and clouds; a crowd in a process of its own that speaks the agents'
wire on two connections each. For each number of agents: processor time of the server beyond that at rest, seconds of
reports, of pages that people ask for meanwhile, and how soon agents hear of a change: a restart is recorded for some of
them, again and again. `cpu_ratio` is the processor time of a request in units of parsing and validating one report in
this process. `--rest`: clusters without work, whose agents report when they are asked to. `--row back`: all agents have
found nobody for a while and knock as `agent.backoff` has it, then a server is started: how soon all are heard, and what
people meet with meanwhile.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any

import psutil

from agent.wire import Report
from controlplane.storage.home import Home
from events import facts
from events.engine import build_engine
from events.sql_store import SqlEventStore
from tests.contract.agent_crowd import Crowd, Vm, let_in, outcome, report_body
from tests.contract.flooded_server import CREDENTIAL, People, known_vms, of_people, rss_mib
from tests.contract.server_process import eventually
from tests.contract.test_api_server import Server
from tests.oidc_server import free_port
from tests.unit.controlplane.api.portal_house import House

AGENTS = "300,1000,2000"
ARRIVE_S, SETTLES_S, REST_S = 5.0, 8.0, 5.0
STARTS_S, BACK_S = 20.0, 90.0
"""Of the row `back`: for a server to start, and for all to come back to it."""
CHANGES = 10
FLOORS = {"cpu_ratio": 15, "report_p95_s": 0.5, "heard_p95_s": 1.0, "pages_p95_s": 0.3}


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """The figures of each number of agents, and of the last one that was within the floors: the knee."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks door")
    parser.add_argument("--agents", default=AGENTS)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--report-every", type=float, default=3.0)
    parser.add_argument("--rest", action="store_true")
    parser.add_argument("--row", choices=("carried", "back"), default="carried")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args(arguments)
    counts = [int(count) for count in asked.agents.split(",")]
    if asked.row == "back":
        return _told({"rows": [back(count, asked.seconds) for count in counts]}, asked.out)
    parse_s = seconds_to_parse()
    rows = [carried(count, asked.seconds, asked.report_every, parse_s, rest=asked.rest) for count in counts]
    knee = max((row["agents"] for row in rows if row["within"]), default=0)
    return _told({"parse_us": round(parse_s * 1e6, 1), "knee_agents": knee, "rows": rows}, asked.out)


def _told(result: dict[str, Any], out: Path | None) -> dict[str, Any]:
    result["load"] = round(os.getloadavg()[0], 1)
    if out is not None:
        out.write_text(json.dumps(result, indent=2) + "\n")
    return result


def seconds_to_parse(rounds: int = 2000) -> float:
    """Processor seconds in which this process parses and validates one report."""
    body = report_body(Vm("a" * 32, "brokers-a-0", 1), 1)
    began = time.process_time()
    for _ in range(rounds):
        Report.model_validate_json(body)
    return (time.process_time() - began) / rounds


def back(agents: int, outage_s: float) -> dict[str, Any]:
    """How `agents` come back to a server that is started after so long. Raises AssertionError where it dies."""
    with tempfile.TemporaryDirectory(prefix="kedge-door-") as work:
        home = Home(Path(work) / "home")
        vms, port = known_vms(home, agents, rest=True), free_port()
        lasts_s = outage_s + STARTS_S + BACK_S
        crowd = let_in(Crowd(port, vms, CREDENTIAL, lasts_s, arrive_s=ARRIVE_S, paced=True))
        time.sleep(outage_s)
        server = Server(home, 4 * agents + 1024, PORT_OF_TEST=str(port))
        try:
            server.wait_until_it_listens()
            listens_at, cpu_s = time.time(), _cpu_s(server.pid)
            people = People(server.url, home.installation().token.get_secret_value())
            met = outcome(crowd, lasts_s + 120)
            cpu_s = _cpu_s(server.pid) - cpu_s
            people.end()
            pages, rss = of_people(people.taken()), rss_mib(server.pid)
            assert server.is_alive, server.log
        finally:
            server.end()
    heard_s = [at - listens_at for at in met["heard_at"]]
    answers: dict[str, int] = met["answers"]
    return {
        "agents": agents,
        "agents_heard": met["agents_heard"],
        "half_heard_s": round(heard_s[len(heard_s) // 2], 1) if heard_s else None,
        "all_heard_s": round(heard_s[-1], 1) if len(heard_s) == agents else None,
        "sent_away": sum(count for what, count in answers.items() if what.endswith(" 503")),
        "answers": answers,
        "cpu_s": round(cpu_s, 1),
        "pages": pages,
        "rss_mib": rss,
    }


def carried(
    agents: int, seconds: float, report_every_s: float, parse_s: float, *, rest: bool = False
) -> dict[str, Any]:
    """What `agents` meet with. Raises AssertionError where the server dies."""
    with tempfile.TemporaryDirectory(prefix="kedge-door-") as work:
        home = Home(Path(work) / "home")
        vms = known_vms(home, agents, rest=rest)
        server = Server(home, 4 * agents + 1024)
        try:
            server.wait_until_it_listens()
            eventually(lambda: server.leads, server)
            at_rest = _cores(server.pid, REST_S)
            crowd = let_in(
                Crowd(
                    int(server.url.rsplit(":", 1)[1]),
                    vms,
                    CREDENTIAL,
                    ARRIVE_S + SETTLES_S + seconds,
                    arrive_s=ARRIVE_S,
                    report_every_s=report_every_s,
                    paced=rest,
                )
            )
            time.sleep(ARRIVE_S + SETTLES_S)
            cores = max(0.0, _cores(server.pid, seconds / 2) - at_rest)
            people = People(server.url, home.installation().token.get_secret_value())
            changed = _changes(home, seconds / 2 - 2.0)
            pages = of_people(people.taken())
            met = outcome(crowd, seconds + 60)
            people.end()
            rss = rss_mib(server.pid)
            assert server.is_alive, server.log
        finally:
            server.end()
    return _row(agents, met, cores, _heard_s(met["heard"], changed), pages, parse_s) | {"rss_mib": rss}


def _cpu_s(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def _cores(pid: int, seconds: float) -> float:
    """Processor seconds a second of one process."""
    process = psutil.Process(pid)
    before, began_s = process.cpu_times(), time.monotonic()
    time.sleep(seconds)
    after, took_s = process.cpu_times(), time.monotonic() - began_s
    return (after.user + after.system - before.user - before.system) / took_s


def _changes(home: Home, seconds: float) -> dict[str, float]:
    """Records a restart for all agents of a cluster, some times within `seconds`. By instance: when, since epoch."""
    engine = build_engine(f"sqlite:///{home.path / 'kedge.db'}", durable=False)
    house = House(store=SqlEventStore(engine))
    changed: dict[str, float] = {}
    house.converger.catch_up()
    names = sorted(view.name for view in house.converger.views())
    for turn in range(CHANGES):
        name = names[turn % len(names)]
        view = house.view(name)
        keys = sorted(view.instances)
        now = time.time()
        for key in keys[turn * 3 : turn * 3 + 3]:
            restart = facts.RestartRequested(key, view.generation, 2, {}, {}, canary=False, reason="test")
            house.record(restart, facts.RestartCompleted(key), name=name)
            changed[f"{view.uid}/{key}"] = now
        time.sleep(seconds / CHANGES)
    engine.dispose()
    return changed


def _heard_s(heard: Sequence[tuple[str, float]], changed: dict[str, float]) -> list[float]:
    first: dict[str, float] = {}
    for instance, at in heard:
        if instance in changed and at >= changed[instance]:
            first.setdefault(instance, at - changed[instance])
    return sorted(first.values()) + [float("inf")] * (len(changed) - len(first))


def _row(
    agents: int,
    met: dict[str, Any],
    cores: float,
    heard_s: list[float],
    pages: dict[str, Any],
    parse_s: float,
) -> dict[str, Any]:
    answers: dict[str, int] = met["answers"]
    answered = sum(count for what, count in answers.items() if what.rsplit(" ", 1)[1] in ("200", "304"))
    cpu_s = cores / (max(1, answered) / met["seconds"])
    cuts = quantiles(heard_s, n=20) if len(heard_s) > 1 else [float("inf")] * 19
    row = {
        "agents": agents,
        "agents_heard": met["agents_heard"],
        "answers": answers,
        "cores": round(cores, 2),
        "cpu_ms_a_request": round(cpu_s * 1000, 3),
        "cpu_ratio": round(cpu_s / parse_s, 1),
        "report_p50_s": met["reports"]["p50_s"],
        "report_p95_s": met["reports"]["p95_s"],
        "heard_p50_s": round(cuts[9], 3),
        "heard_p95_s": round(cuts[18], 3),
        "changes": len(heard_s),
        "pages_p95_s": pages["p95_s"],
    }
    is_within = all(row[name] <= FLOORS[name] for name in ("report_p95_s", "heard_p95_s", "pages_p95_s"))
    return {**row, "within": is_within and met["agents_heard"] == agents}
