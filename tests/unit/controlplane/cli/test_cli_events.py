"""events: the whole history, the end of it, and what is being added."""

import json

import httpx

from controlplane.api.schemas import clusters as api
from controlplane.cli import exits
from controlplane.cli.verbs.events import PAGE
from tests.unit.controlplane.cli.cli_world import World, detail, event, snapshot

PATH = "/clusters/orders/events"


def page(*positions: int) -> api.EventsOut:
    return api.EventsOut(events=[event(p) for p in positions], head=99)


def asked(world: World, name: str) -> list[str]:
    return [request.url.params[name] for request in world.server.requests]


def test_events_are_lines_with_time_version_type_data_and_actor(world: World) -> None:
    world.server.on("GET", PATH, page(11, 12))
    snapshot("events.txt", world.run("events", "orders").stdout)


def test_json_is_one_versioned_document_a_line(world: World) -> None:
    world.server.on("GET", PATH, page(11, 12))
    lines = world.run("events", "orders", "-o", "json").stdout.splitlines()
    assert [json.loads(line)["position"] for line in lines] == [11, 12]
    snapshot("event.json", lines[0] + "\n")


def test_a_long_history_is_read_page_by_page(world: World) -> None:
    world.server.on("GET", PATH, page(*range(11, 11 + PAGE)), page(1000))
    ran = world.run("events", "orders", "-o", "json", "--after", "10")
    assert len(ran.stdout.splitlines()) == PAGE + 1
    assert asked(world, "after") == ["10", str(10 + PAGE)]


def test_last_asks_for_the_newest(world: World) -> None:
    world.server.on("GET", PATH, page(98, 99))
    ran = world.run("events", "orders", "--last", "2")
    assert (len(ran.stdout.splitlines()), asked(world, "tail")) == (2, ["2"])


def test_follow_goes_on_after_the_last_one_with_long_polls(world: World) -> None:
    world.server.on("GET", PATH, page(11), page(12, 13), page())
    world.time.interrupt_after = 0
    ran = world.run("events", "orders", "-f", "-o", "json")
    assert [json.loads(line)["position"] for line in ran.stdout.splitlines()] == [11, 12, 13]
    assert asked(world, "after") == ["0", "11", "13"]
    assert asked(world, "wait_s")[1:] == ["20", "20"]


def test_ctrl_c_prints_the_position_to_go_on_from(world: World) -> None:
    world.server.on("GET", PATH, page(11), page())
    world.time.interrupt_after = 0
    ran = world.run("events", "orders", "-f")
    assert ran.exit_code == exits.INTERRUPTED
    assert "kedge events orders -f --after 11" in ran.stderr


def test_following_outlives_a_server_that_restarts(world: World) -> None:
    gone = httpx.ConnectError("Connection refused")
    world.server.on("GET", PATH, page(11), gone, gone, page(12), page())
    world.time.interrupt_after = 2
    ran = world.run("events", "orders", "-f", "-o", "json")
    assert len(ran.stdout.splitlines()) == 2
    assert ran.stderr.count("waiting for it to come back") == 1


def test_a_server_that_sends_everybody_away_is_not_asked_in_a_hurry(world: World) -> None:
    world.server.on("GET", PATH, page(11), page())
    world.time.interrupt_after = 3
    world.run("events", "orders", "-f")
    assert world.time.sleeps == [1.0, 1.0, 1.0]


def test_data_is_cut_on_a_terminal_and_whole_in_a_pipe(world: World) -> None:
    long = event(11, data={"keys": ["brokers-a-0.g1"] * 50})
    world.server.on("GET", PATH, api.EventsOut(events=[long], head=11))
    world.environ["COLUMNS"] = "400"
    assert "..." in world.terminal("events", "orders").stdout
    assert world.run("events", "orders").stdout.count("brokers-a-0.g1") == 50


def test_an_unknown_cluster_is_told_with_the_one_that_was_meant(world: World) -> None:
    world.server.cluster(detail())
    ran = world.run("events", "ordres")
    assert ran.exit_code == exits.FAILED
    assert "did you mean `orders`?" in ran.stderr
