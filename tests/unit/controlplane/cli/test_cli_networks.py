"""`kedge networks`: the table, what went wrong, room in the pool, a removal with the name typed out."""

import json
from datetime import timedelta
from typing import Any

import pytest

from controlplane.api.schemas import networks as api
from tests.unit.controlplane.cli.cli_world import START, World


@pytest.fixture
def world(tmp_path: Any) -> World:
    return World(tmp_path)


def a_network(**changes: Any) -> api.NetworkOut:
    fields: dict[str, Any] = {
        "name": "default",
        "cloud": "aws",
        "account": "production",
        "region": "eu-west-1",
        "cidr": "10.64.0.0/20",
        "state": "made",
        "told": "made",
        "zones": ["eu-west-1a"],
        "clients": ["192.168.8.0/24"],
        "broker_ports": [9092, 19092],
        "member_ports": [9093],
        "clusters": ["orders"],
        "since": START - timedelta(hours=1),
    }
    return api.NetworkOut(**fields | changes)


def listed(*networks: api.NetworkOut, free: int = 1023) -> api.NetworksOut:
    return api.NetworksOut(items=list(networks), pool="10.64.0.0/10", prefix=20, free=free)


def one_line(result: Any) -> str:
    return " ".join(result.stdout.split())


def test_networks_are_a_table(world: World) -> None:
    world.server.on("GET", "/networks", listed(a_network()))
    result = world.run("networks")
    assert result.exit_code == 0
    head, line = result.stdout.splitlines()
    assert head.split()[:5] == ["NAME", "CLOUD", "ACCOUNT", "REGION", "CIDR"]
    assert all(
        word in line for word in ("default", "10.64.0.0/20", "made", "192.168.8.0/24", "9092,19092 + 9093", "orders")
    )


def test_what_went_wrong_and_a_pool_that_runs_out_are_told(world: World) -> None:
    failing = a_network(state="being made", told="being made; try 2 failed: QuotaExceeded: no more VPCs", tries=2)
    world.server.on("GET", "/networks", listed(failing, free=0))
    result = world.run("networks")
    assert "failing" in result.stdout
    assert "QuotaExceeded: no more VPCs" in result.stdout
    assert "has room for no more network" in result.stdout
    assert "`kedge networks repair default --account production --region eu-west-1` tries at once" in one_line(result)


def test_servers_that_are_let_in_are_told_below_the_table(world: World) -> None:
    world.server.on("GET", "/networks", listed(a_network(servers=["10.0.0.5/32"])))
    told = one_line(world.run("networks"))
    assert "default in production/eu-west-1: lets in servers of Kedge: 10.0.0.5/32" in told


def test_ports_of_tunnels_are_told_below_the_table(world: World) -> None:
    tunnels = a_network(overlay_ports=[51820, 51822], open_overlay_ports=[51821, 51823])
    world.server.on("GET", "/networks", listed(tunnels))
    told = one_line(world.run("networks"))
    assert "default in production/eu-west-1: takes tunnels of members at UDP 51820, 51822" in told
    assert "takes tunnels of anybody at UDP 51821, 51823" in told


def test_a_removal_that_failed_is_asked_for_again(world: World) -> None:
    failing = a_network(state="being removed", told="being removed; try 1 failed: NotPermitted: no", tries=1)
    world.server.on("GET", "/networks", listed(failing))
    told = one_line(world.run("networks"))
    assert "`kedge networks remove default --account production --region eu-west-1` tries at once" in told


def test_what_was_changed_by_hand_is_told_below_the_table(world: World) -> None:
    sentence = 'module.kedge.aws_vpc.network: tags.team was recorded as nothing, there is "payments"'
    drifted = a_network(audited_at=START, drifts=[sentence], audit_error="the token is refused")
    world.server.on("GET", "/networks", listed(drifted))
    told = " ".join(world.run("networks").stdout.split())
    assert f"default in production/eu-west-1: changed by hand: {sentence}" in told
    assert "the last audit failed: the token is refused" in told


def test_the_list_is_a_document_too(world: World) -> None:
    world.server.on("GET", "/networks", listed(a_network()))
    told = json.loads(world.run("networks", "-o", "json").stdout)
    assert (told["items"][0]["cidr"], told["free"]) == ("10.64.0.0/20", 1023)


def test_a_removal_wants_the_name_and_sends_it(world: World) -> None:
    answer = api.NetworkAskedOut(name="default", sentence="network default is removed once nothing is left in it")
    world.server.on("POST", "/networks/default/remove", answer)
    refused = world.run("networks", "remove", "default", "--confirm", "defautl")
    assert refused.exit_code == 1
    assert "not confirmed" in refused.stderr
    done = world.run("networks", "remove", "default", "--account", "production", "--confirm", "default")
    assert done.exit_code == 0, done.stderr
    assert "once nothing is left in it" in done.stdout


def test_a_repair_is_asked_for(world: World) -> None:
    answer = api.NetworkAskedOut(name="default", sentence="what is missing is made again")
    world.server.on("POST", "/networks/default/repair", answer)
    assert "made again" in world.run("networks", "repair", "default").stdout
