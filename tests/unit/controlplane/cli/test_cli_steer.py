"""pause, resume, abort, delete: what is sent, and that a cluster is never deleted by one careless word."""

import pytest

from controlplane.api.schemas import commands as command_api
from controlplane.cli import exits
from tests.unit.controlplane.cli.cli_world import World, detail, instance, problem, snapshot


@pytest.fixture
def world(world: World) -> World:
    world.server.cluster(detail())
    for verb in ("pause", "resume", "abort", "delete"):
        done = command_api.CommandOut(cluster="orders", changed=True, sentence=f"orders: {verb} recorded")
        world.server.on("POST", f"/clusters/orders/{verb}", done)
    return world


def sent(world: World, verb: str) -> list[dict[str, object]]:
    return world.server.bodies("POST", f"/clusters/orders/{verb}")


@pytest.mark.parametrize("verb", ["pause", "resume", "abort"])
def test_a_command_is_recorded_with_its_reason_and_answered_on_stdout(world: World, verb: str) -> None:
    ran = world.run(verb, "orders", "--reason", "release day")
    assert (ran.exit_code, ran.stdout) == (exits.OK, f"orders: {verb} recorded\n")
    assert sent(world, verb) == [{"reason": "release day", "until": None}]


def test_a_roll_is_let_go_at_once_only_when_now_is_said(world: World) -> None:
    done = command_api.CommandOut(cluster="orders", changed=True, sentence="begins at once")
    world.server.on("POST", "/clusters/orders/roll-now", done)
    ran = world.run("roll", "orders")
    assert (ran.exit_code, sent(world, "roll-now")) == (exits.USAGE, [])
    assert "kedge roll orders --now" in ran.stderr
    assert world.run("roll", "orders", "--now", "--reason", "a fix").stdout == "begins at once\n"
    assert sent(world, "roll-now") == [{"reason": "a fix", "until": None}]


@pytest.mark.parametrize("verb", ["pause", "abort"])
def test_what_stops_says_how_to_go_on(world: World, verb: str) -> None:
    assert "kedge resume orders" in world.run(verb, "orders").stderr


@pytest.mark.parametrize(
    ("until", "moment"),
    [("2h", "2026-01-02T05:04:05Z"), ("2026-01-31T18:00:00+01:00", "2026-01-31T18:00:00+01:00")],
)
def test_pause_until_takes_a_duration_or_a_time(world: World, until: str, moment: str) -> None:
    assert world.run("pause", "orders", "--until", until).exit_code == exits.OK
    assert sent(world, "pause")[0]["until"] == moment


def test_pause_until_yesterday_is_a_usage_error(world: World) -> None:
    ran = world.run("pause", "orders", "--until", "2025-01-01T00:00:00Z")
    assert (ran.exit_code, sent(world, "pause")) == (exits.USAGE, [])


def test_a_command_writes_a_versioned_document(world: World) -> None:
    snapshot("command.json", world.run("pause", "orders", "-o", "json").stdout)


def test_a_refused_command_is_told_with_the_servers_reason(world: World) -> None:
    world.server.on("POST", "/clusters/orders/resume", problem(409, "being-deleted", "refused", detail="it is going"))
    ran = world.run("resume", "orders")
    assert ran.exit_code == exits.FAILED
    assert "why:   it is going [being-deleted]" in ran.stderr


# --- delete -----------------------------------------------------------------------------------------------------


def test_delete_says_what_is_lost_and_wants_the_name_typed(world: World) -> None:
    ran = world.terminal("delete", "orders", typed="orders\n")
    assert ran.exit_code == exits.OK
    assert "orders has 3 VMs; deletionPolicy is `destroy`" in ran.stderr
    assert sent(world, "delete") == [{"confirm": "orders", "reason": "", "despite_freeze": False}]
    assert "kedge wait orders --for=deleted" in ran.stderr


def test_delete_tells_that_a_retained_cluster_stays(world: World) -> None:
    world.server.cluster(detail(document={}, instances=[instance("brokers-a-0.g1")]))
    ran = world.terminal("delete", "orders", typed="orders\n")
    assert "orders has 1 VM; deletionPolicy is `retain`: VMs and disks stay" in ran.stderr


@pytest.mark.parametrize("typed", ["y\n", "yes\n", "\n", "", "order\n", "ORDERS\n"])
def test_anything_but_the_name_deletes_nothing(world: World, typed: str) -> None:
    ran = world.terminal("delete", "orders", typed=typed)
    assert (ran.exit_code, sent(world, "delete")) == (exits.FAILED, [])


@pytest.mark.parametrize("how", ["terminal", "run"])
def test_yes_alone_is_not_enough(world: World, how: str) -> None:
    ran = getattr(world, how)("delete", "orders", "-y", typed="orders\n")
    assert (ran.exit_code, sent(world, "delete")) == (exits.FAILED, [])
    assert "--confirm orders" in ran.stderr


def test_without_a_terminal_it_names_the_option_and_reads_nothing(world: World) -> None:
    ran = world.run("delete", "orders", typed="orders\n")
    assert (ran.exit_code, sent(world, "delete")) == (exits.FAILED, [])
    assert "kedge delete orders --confirm orders" in ran.stderr


@pytest.mark.parametrize("yes", [[], ["-y"]])
def test_the_name_as_an_option_needs_no_terminal(world: World, yes: list[str]) -> None:
    ran = world.run("delete", "orders", "--confirm", "orders", "--reason", "moved", *yes)
    assert ran.exit_code == exits.OK
    assert sent(world, "delete") == [{"confirm": "orders", "reason": "moved", "despite_freeze": False}]


def test_another_name_as_an_option_deletes_nothing(world: World) -> None:
    ran = world.run("delete", "orders", "--confirm", "payments")
    assert (ran.exit_code, sent(world, "delete")) == (exits.FAILED, [])
    assert "`payments` is not `orders`" in ran.stderr


def test_a_loss_is_confirmed_with_the_name_typed_out_and_by_rack(world: World) -> None:
    done = command_api.CommandOut(
        cluster="orders", changed=True, sentence="brokers-a-0.g1 of orders are taken for gone"
    )
    world.server.on("POST", "/clusters/orders/losses", done)
    ran = world.run("confirm-loss", "orders", "--rack", "a", "--rack", "b")
    assert (ran.exit_code, sent(world, "losses")) == (exits.FAILED, [])
    assert "kedge confirm-loss orders --rack a --rack b --confirm orders" in ran.stderr
    assert world.run("confirm-loss", "orders").exit_code == exits.USAGE, "without a rack"
    wrong = world.terminal("confirm-loss", "orders", "--rack", "a", typed="order\n")
    assert (wrong.exit_code, sent(world, "losses")) == (exits.FAILED, [])
    ran = world.run("confirm-loss", "orders", "--rack", "a", "--confirm", "orders", "--reason", "fire")
    assert (ran.exit_code, ran.stdout) == (exits.OK, "brokers-a-0.g1 of orders are taken for gone\n")
    world.terminal("confirm-loss", "orders", "--rack", "a", "--rack", "b", typed="orders\n")
    assert sent(world, "losses") == [
        {"racks": ["a"], "confirm": "orders", "reason": "fire"},
        {"racks": ["a", "b"], "confirm": "orders", "reason": ""},
    ]
