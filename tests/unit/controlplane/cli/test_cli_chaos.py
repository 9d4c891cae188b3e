"""moves, chaos and game days: what is sent, what is shown, and how a game is told."""

from datetime import UTC, datetime

import httpx
import pytest

from controlplane.api.schemas import chaos as chaos_api, commands as command_api, games as game_api
from controlplane.cli import exits
from tests.unit.controlplane.cli.cli_world import World, detail

AT = datetime(2026, 1, 1, tzinfo=UTC)
A, B = "brokers-a-0.g1", "brokers-b-0.g1"


def injected(fault: str = "pause", for_s: float = 30.0) -> chaos_api.ChaosOut:
    return chaos_api.ChaosOut(chaos="c1", fault=fault, vms=[A], since=AT, for_s=for_s, sentence=f"{fault} of {A}")


@pytest.fixture
def world(world: World) -> World:
    world.server.cluster(detail())
    world.server.on("POST", "/clusters/orders/chaos", injected())
    for verb in ("take-back", "adopt"):
        done = command_api.CommandOut(cluster="orders", changed=True, sentence=f"orders-0: {verb}")
        world.server.on("POST", f"/clusters/orders/moves/{verb}", done)
    move = chaos_api.MoveOut(
        topic="orders",
        partition=0,
        replicas=[1, 2, 3],
        target=[1, 2],
        isr=[2, 3],
        of_kedge=False,
        age_s=700,
        still_s=None,
        hung="orders-0: nothing has come for 600 s",
    )
    world.server.on(
        "GET", "/clusters/orders/moves", chaos_api.MovesOut(cluster="orders", metadata_age_s=2, moves=[move])
    )
    return world


def test_a_fault_is_sent_with_its_vm_and_its_time(world: World) -> None:
    ran = world.run("chaos", "orders", "pause", "--vm", A, "--for", "30s", "--reason", "game day")
    assert (ran.exit_code, ran.stdout) == (exits.OK, f"pause of {A}\n")
    (body,) = world.server.bodies("POST", "/clusters/orders/chaos")
    assert (body["fault"], body["vms"], body["for_s"], body["force"]) == ("pause", [A], 30.0, False)


def test_a_fault_without_a_vm_is_a_usage_error(world: World) -> None:
    assert world.run("chaos", "orders", "pause").exit_code == exits.USAGE
    assert world.server.bodies("POST", "/clusters/orders/chaos") == []


def test_a_split_is_sent_with_whom_from_and_which_way(world: World) -> None:
    ran = world.run("chaos", "orders", "split", "--rack", "a", "--from", "brokers", "--way", "out")
    assert ran.exit_code == exits.OK
    (body,) = world.server.bodies("POST", "/clusters/orders/chaos")
    assert (body["rack"], body["vms"], body["cut_from"], body["way"]) == ("a", [], "brokers", "out")


def test_moves_are_shown_with_whose_they_are_and_why_they_hang(world: World) -> None:
    ran = world.run("moves", "orders")
    assert ran.exit_code == exits.OK
    assert "nobody's plan" in ran.stdout
    assert "hangs: orders-0: nothing has come for 600 s" in ran.stdout


@pytest.mark.parametrize(("option", "verb"), [("--cancel", "take-back"), ("--adopt", "adopt")])
def test_a_move_of_others_is_settled_by_its_name(world: World, option: str, verb: str) -> None:
    ran = world.run("moves", "orders", option, "orders-0", "--reason", "a dead tool")
    assert (ran.exit_code, ran.stdout) == (exits.OK, f"orders-0: {verb}\n")
    sent = world.server.bodies("POST", f"/clusters/orders/moves/{verb}")
    assert sent == [{"partitions": ["orders-0"], "reason": "a dead tool"}]


def test_a_move_is_not_cancelled_and_adopted_at_once(world: World) -> None:
    assert world.run("moves", "orders", "--cancel", "orders-0", "--adopt", "orders-0").exit_code == exits.USAGE


def a_game(*events: game_api.PlayedOut, ended: bool = False, stopped: str = "") -> game_api.GameOut:
    return game_api.GameOut(
        game="g1",
        cluster="orders",
        sentence="over, 2 of 2 faults were injected" if ended else "in hand",
        reason="asked by ada: weekly",
        since=AT,
        ended_at=AT if ended else None,
        stopped=stopped,
        seed=7,
        wanted=2,
        within_s=600,
        lasts_s=15,
        heal_within_s=300,
        faults=["pause"],
        events=list(events),
        detected_p50_s=2.0 if ended else None,
        detected_p95_s=2.0 if ended else None,
        healed_p50_s=20.0 if ended else None,
        healed_p95_s=20.0 if ended else None,
        under_min_isr_s=0.5,
    )


def a_fault(number: int, *, judged: bool = True, healed_s: float | None = 20.0) -> game_api.PlayedOut:
    return game_api.PlayedOut(
        chaos=f"c{number}",
        fault="pause",
        vm=(A, B)[number],
        at=AT,
        judged=judged,
        detected_s=2.0 if judged else None,
        healed_s=healed_s if judged else None,
        under_min_isr_s=0.5,
        first_sign="a broker is down",
        findings=[],
    )


GAMES = "/clusters/orders/games"


def test_a_game_is_asked_of_the_server_and_told_fault_by_fault_until_its_report(world: World) -> None:
    over = a_game(a_fault(0), a_fault(1), ended=True)
    world.server.on("POST", GAMES, a_game())
    world.server.on("GET", f"{GAMES}/g1", a_game(a_fault(0, judged=False)), a_game(a_fault(0)), over)
    ran = world.run(
        "chaos", "orders", "game", "--events", "2", "--seed", "7", "--for", "10m", "--faults", "pause, split"
    )
    assert ran.exit_code == exits.OK, ran.stderr
    (body,) = world.server.bodies("POST", GAMES)
    assert (body["events"], body["seed"], body["within_s"], body["faults"]) == (2, 7, 600.0, ["pause", "split"])
    told = ran.stderr.splitlines()
    assert f"1/2: pause of {A}" in told
    assert "  noticed after 2.0 s (a broker is down), healthy after 20.0 s, 0.5 s below min ISR" in told
    assert told.count(f"2/2: pause of {B}") == 1
    assert "noticed p50 2 s, p95 2 s; healthy p50 20 s, p95 20 s; below min ISR 0.5 s in all; seed 7" in ran.stdout


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (a_game(a_fault(0), ended=True, stopped="ended early, asked by eve"), exits.OK),
        (a_game(a_fault(0), ended=True, stopped="not in full health after 300 s: a broker is down"), exits.FAILED),
        (a_game(a_fault(0, healed_s=None), ended=True), exits.FAILED),
        (a_game(a_fault(0, judged=False), ended=True, stopped="the server that played it is gone"), exits.FAILED),
    ],
)
def test_a_game_fails_where_a_fault_did_not_heal_or_nobody_knows(
    world: World, report: game_api.GameOut, code: int
) -> None:
    world.server.on("POST", GAMES, report)
    ran = world.run("chaos", "orders", "game")
    assert ran.exit_code == code
    assert not report.stopped or f"ended early: {report.stopped}" in " ".join(ran.stdout.split())


def test_a_server_that_goes_away_is_waited_for(world: World) -> None:
    world.server.on("POST", GAMES, a_game())
    over = a_game(ended=True, stopped="the server that played it was stopped")
    world.server.on("GET", f"{GAMES}/g1", *[httpx.ConnectError("refused")] * 30, over)
    ran = world.run("chaos", "orders", "game")
    assert ran.exit_code == exits.OK, ran.stderr
    assert ran.stderr.count("waiting for a server to tell how it went on") == 1


def test_a_game_goes_on_without_who_asked_for_it(world: World) -> None:
    world.server.on("POST", GAMES, a_game())
    ran = world.run("chaos", "orders", "game", "--detach")
    assert ran.exit_code == exits.OK
    assert "kedge chaos orders game --end" in ran.stderr
    assert [r.method for r in world.server.requests if "/games" in r.url.path] == ["POST"]


def test_the_game_in_hand_is_ended_by_a_word_and_games_are_listed_and_shown(world: World) -> None:
    over = a_game(a_fault(0), ended=True, stopped="ended early, asked by ada: lunch")
    world.server.on("GET", GAMES, game_api.GamesOut(cluster="orders", games=[a_game(a_fault(0))]))
    world.server.on("POST", f"{GAMES}/g1/end", over)
    ran = world.run("chaos", "orders", "game", "--end", "--reason", "lunch")
    assert (ran.exit_code, world.server.bodies("POST", f"{GAMES}/g1/end")) == (exits.OK, [{"reason": "lunch"}])
    world.server.on("GET", GAMES, game_api.GamesOut(cluster="orders", games=[over]))
    world.server.on("GET", f"{GAMES}/g1", over)
    assert "g1" in world.run("chaos", "orders", "game", "--list").stdout
    assert A in world.run("chaos", "orders", "game", "--show", "g1").stdout
    nothing = world.run("chaos", "orders", "game", "--end")
    assert (nothing.exit_code, "there is no game to end" in nothing.stderr) == (exits.FAILED, True)
