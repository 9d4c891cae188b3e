"""restart, restart-check, replace: what is sent, what is shown, and which exit code a script builds on."""

import pytest

from controlplane.api.schemas import commands as command_api, nodes as node_api
from controlplane.cli import exits
from tests.unit.controlplane.cli.cli_world import World, detail, problem


@pytest.fixture
def world(world: World) -> World:
    world.server.cluster(detail())
    for verb in ("restart", "replace", "readmit"):
        done = command_api.CommandOut(cluster="orders", changed=True, sentence=f"orders: {verb} recorded")
        world.server.on("POST", f"/clusters/orders/{verb}", done)
    return world


def sent(world: World, verb: str) -> list[dict[str, object]]:
    return world.server.bodies("POST", f"/clusters/orders/{verb}")


@pytest.mark.parametrize(
    ("options", "body"),
    [
        (["--rolling"], {"brokers": [], "pool": ""}),
        (["--rolling", "--pool", "controllers"], {"brokers": [], "pool": "controllers"}),
        (["--broker", "1001", "--broker", "1002"], {"brokers": [1001, 1002], "pool": ""}),
    ],
)
def test_a_restart_is_sent_with_those_it_is_for(world: World, options: list[str], body: dict[str, object]) -> None:
    ran = world.run("restart", "orders", *options, "--reason", "new certificates")
    assert (ran.exit_code, ran.stdout) == (exits.OK, "orders: restart recorded\n")
    assert sent(world, "restart") == [{"reason": "new certificates", **body}]
    assert "kedge abort orders" in ran.stderr


@pytest.mark.parametrize("options", [[], ["--rolling", "--broker", "1001"], ["--pool", "brokers"]])
def test_a_restart_of_nobody_or_of_two_things_is_a_usage_error(world: World, options: list[str]) -> None:
    ran = world.run("restart", "orders", *options)
    assert (ran.exit_code, sent(world, "restart")) == (exits.USAGE, [])


@pytest.mark.parametrize(
    ("options", "body"),
    [
        (["--broker", "1001"], {"broker": 1001, "node": "", "new_disk": False, "disks": []}),
        (["--node", "controllers-a-0"], {"broker": None, "node": "controllers-a-0", "new_disk": False, "disks": []}),
        (["--broker", "1001", "--new-disk"], {"broker": 1001, "node": "", "new_disk": True, "disks": []}),
        (
            ["--broker", "1001", "--disk", "data2", "--disk", "data3"],
            {"broker": 1001, "node": "", "new_disk": False, "disks": ["data2", "data3"]},
        ),
    ],
)
def test_a_replacement_is_sent_with_its_node(world: World, options: list[str], body: dict[str, object]) -> None:
    assert world.run("replace", "orders", *options, "--reason", "slow disk").exit_code == exits.OK
    assert sent(world, "replace") == [{"reason": "slow disk", **body}]


@pytest.mark.parametrize("options", [[], ["--broker", "1001", "--node", "brokers-a-0"]])
def test_a_replacement_without_one_node_is_a_usage_error(world: World, options: list[str]) -> None:
    ran = world.run("replace", "orders", *options)
    assert (ran.exit_code, sent(world, "replace")) == (exits.USAGE, [])


def test_brokers_are_named_one_by_one(world: World) -> None:
    ran = world.run("readmit", "orders", "--broker", "1001", "--broker", "1004", "--reason", "noises")
    assert (ran.exit_code, sent(world, "readmit")) == (exits.OK, [{"brokers": [1001, 1004], "reason": "noises"}])
    assert world.run("readmit", "orders").exit_code == exits.USAGE


def test_leadership_is_taken_off_brokers_and_given_back(world: World) -> None:
    for verb in ("demote", "undemote"):
        done = command_api.CommandOut(cluster="orders", changed=True, sentence=f"orders: {verb} recorded")
        world.server.on("POST", f"/clusters/orders/{verb}", done)
        ran = world.run(verb, "orders", "--broker", "1001", "--broker", "1004", "--reason", "noises")
        assert (ran.exit_code, sent(world, verb)) == (exits.OK, [{"brokers": [1001, 1004], "reason": "noises"}])


def test_offline_replicas_are_made_anew_only_after_what_would_come_of_it_was_told(world: World) -> None:
    told = command_api.CommandOut(cluster="orders", changed=True, sentence="replicas of broker 1001 are made anew")
    world.server.on("POST", "/clusters/orders/fix-offline", told)
    ran = world.run("fix-offline", "orders", "--broker", "1001", "--yes")
    assert ran.exit_code == exits.OK, ran.stderr
    asked = sent(world, "fix-offline")
    assert [body["dry_run"] for body in asked] == [True, False]
    assert world.run("fix-offline", "orders", "--broker", "1001").exit_code == exits.FAILED, "nobody said yes"
    assert sent(world, "fix-offline")[2:] == [{"brokers": [1001], "reason": "", "dry_run": True}]
    assert world.run("evacuate", "orders").exit_code == exits.USAGE


def test_a_refused_restart_is_told_with_how_far_the_other_one_is(world: World) -> None:
    refusal = problem(409, "restart-running", "refused", detail="1 of 6 services are done")
    world.server.on("POST", "/clusters/orders/restart", refusal)
    ran = world.run("restart", "orders", "--rolling")
    assert ran.exit_code == exits.FAILED
    assert "why:   1 of 6 services are done [restart-running]" in ran.stderr


# --- restart-check ----------------------------------------------------------------------------------------------

THIN = node_api.BlockingPartitionOut(
    topic="thin", partition=0, isr=[1000, 1001], replicas=[1000, 1001], min_isr=2, why="would fall below its min ISR"
)


def service(broker: int, *blocking: node_api.BlockingPartitionOut) -> node_api.RestartSafetyOut:
    return node_api.RestartSafetyOut(
        key=f"brokers-{'abc'[broker - 1000]}-0.g1",
        service="broker",
        service_id=broker,
        rack="abc"[broker - 1000],
        safe=not blocking,
        reason="1 partition would fall below min ISR" if blocking else "all 12 partitions keep their min ISR",
        waits_for="MinIsrGate" if blocking else "",
        blocking=list(blocking),
        next="list thin under rollout.allowUnavailable" if blocking else "",
    )


def check(world: World, *services: node_api.RestartSafetyOut) -> None:
    answer = node_api.RestartCheckOut(cluster="orders", metadata_age_s=4.2, services=list(services))
    world.server.on("GET", "/clusters/orders/restart-check", answer)


def test_all_safe_is_exit_code_0(world: World) -> None:
    check(world, service(1000), service(1001))
    ran = world.run("restart-check", "orders")
    assert ran.exit_code == exits.OK
    assert ran.stdout.count(" safe ") == 2
    assert "metadata read 4 s ago" in ran.stdout


def test_one_that_is_not_safe_is_exit_code_1_with_its_partitions_and_what_to_do(world: World) -> None:
    check(world, service(1000, THIN), service(1001, THIN), service(1002))
    ran = world.run("restart-check", "orders")
    assert ran.exit_code == exits.FAILED
    assert ran.stdout.count("thin-0") == 1
    assert "would fall below its min ISR" in ran.stdout
    assert ran.stdout.count("next: list thin under rollout.allowUnavailable") == 1


def test_one_broker_is_judged_alone(world: World) -> None:
    check(world, service(1000, THIN), service(1002))
    assert world.run("restart-check", "orders", "--broker", "1002").exit_code == exits.OK
    ran = world.run("restart-check", "orders", "--broker", "7")
    assert ran.exit_code == exits.FAILED
    assert "those that do: 1000, 1002" in ran.stderr


def test_a_disk_is_emptied_or_evened_out_only_after_what_would_come_of_it_was_told(world: World) -> None:
    told = command_api.CommandOut(cluster="orders", changed=True, sentence="broker 1001 empties /data2")
    for verb, more, order in (
        ("empty-disk", ("--disk", "data2"), {"broker": 1001, "disk": "data2", "reason": ""}),
        ("even-disks", (), {"broker": 1001, "reason": ""}),
    ):
        world.server.on("POST", f"/clusters/orders/{verb}", told)
        assert world.run(verb, "orders", "--broker", "1001", *more).exit_code == exits.FAILED, "nobody said yes"
        assert world.run(verb, "orders", "--broker", "1001", *more, "--yes").exit_code == exits.OK
        assert sent(world, verb) == [{**order, "dry_run": first} for first in (True, True, False)]
    assert world.run("empty-disk", "orders", "--broker", "1001").exit_code == exits.USAGE, "which disk?"


def test_moves_between_disks_are_ended_by_either_verb(world: World) -> None:
    ended = command_api.CommandOut(cluster="orders", changed=True, sentence="nothing more begins")
    world.server.on("POST", "/clusters/orders/disk-moves/cancel", ended)
    for verb in ("empty-disk", "even-disks"):
        assert world.run(verb, "orders", "--broker", "1001", "--cancel").exit_code == exits.OK
    assert sent(world, "disk-moves/cancel") == [{"broker": 1001, "reason": ""}] * 2
