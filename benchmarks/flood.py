"""Far more agents than a server has room for: a real server with 1,024 descriptors, and 2,000 agents that knock.

    python -m benchmarks flood [--agents N] [--descriptors N] [--seconds S] [--out FILE]

The agents are a process of their own on loopback, speak the real wire on two connections each, and come back when they
are told to, as agents do. Three people ask for pages and for the API all the time, each request on a connection of its
own: how long they wait before, during and after the flood is what counts. `shed` is what the server itself counted.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from controlplane.storage.home import Home
from tests.contract.agent_crowd import Crowd, let_in, outcome
from tests.contract.flooded_server import CREDENTIAL, People, known_vms, of_people, rss_mib
from tests.contract.server_process import eventually
from tests.contract.test_api_server import Server

FLOORS = {"people_p95_s": 1.0}


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """The figures of one flood."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks flood")
    parser.add_argument("--agents", type=int, default=2000)
    parser.add_argument("--descriptors", type=int, default=1024)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args(arguments)
    result = flooded(asked.agents, asked.descriptors, asked.seconds)
    if asked.out is not None:
        asked.out.write_text(json.dumps(result, indent=2) + "\n")
    return result


def flooded(agents: int, descriptors: int, seconds: float, *, apart_s: float = 10.0) -> dict[str, Any]:
    """`apart_s`: how long people are looked at before and after. Raises AssertionError where the server dies."""
    with tempfile.TemporaryDirectory(prefix="kedge-flood-") as work:
        home = Home(Path(work) / "home")
        vms = known_vms(home, agents)
        server = Server(home, descriptors)
        try:
            server.wait_until_it_listens()
            eventually(lambda: server.leads, server)
            people = People(server.url, home.installation().token.get_secret_value())
            figures = {"rss_mib_before": rss_mib(server.pid)}
            time.sleep(apart_s)
            before = people.taken()
            crowd = let_in(Crowd(int(server.url.rsplit(":", 1)[1]), vms, CREDENTIAL, seconds))
            met = outcome(crowd, seconds + 60)
            during = people.taken()
            load = server.get("/v1/loop").json()["load"]
            figures["rss_mib_after"] = rss_mib(server.pid)
            time.sleep(apart_s)
            after = people.taken()
            people.end()
            assert server.is_alive, server.log
            assert "Traceback" not in server.log, server.log
        finally:
            server.end()
    phases = {"before": of_people(before), "during": of_people(during), "after": of_people(after)}
    return {"agents": agents, "descriptors": descriptors, **figures, "people": phases, "crowd": met, "load": load}
