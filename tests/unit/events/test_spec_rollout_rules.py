"""Refusals about rolling, listeners and the clients' way in."""

import pytest

from tests.unit.events.spec_texts import load, told


def test_migrating_without_surge_is_refused() -> None:
    result = load({24: "    surge: 0"})
    assert told(result) == [
        (
            "24:12",
            "KEDGE-SPEC-055",
            "`migrate` with `surge: 0` cannot start: a fresh broker has to join before an old one leaves",
            "Use `surge: 1` or more.",
        ),
    ]
    assert not result.ok


def test_reattaching_with_every_broker_up_is_refused() -> None:
    result = load({24: "    strategy: reattach"})
    assert told(result) == [
        (
            "23:3",
            "KEDGE-SPEC-055",
            ("`reattach` with `maxUnavailable: 0` cannot start: a broker is down while its disk moves to the next VM"),
            "Use `maxUnavailable: 1`, or `strategy: migrate`.",
        ),
    ]
    assert not result.ok


@pytest.mark.parametrize(("away", "restarts", "may"), [("", 2, 1), ("    maxUnavailable: 2\n", 3, 2)])
def test_more_restarts_at_once_than_brokers_may_be_away_are_refused(away: str, restarts: int, may: int) -> None:
    result = load({24: f"{away}    maxParallelRestarts: {restarts}"})
    ((_, code, message, fix),) = told(result)
    assert (code, message) == (
        "KEDGE-SPEC-065",
        f"{restarts} brokers are to be restarted at the same time, and {may} may be away by `maxUnavailable`",
    )
    assert fix == f"Use `maxUnavailable: {restarts}`, or `maxParallelRestarts: {may}`."
    assert load({24: f"    maxUnavailable: {restarts}\n    maxParallelRestarts: {restarts}"}).ok


def test_reattaching_an_ephemeral_disk_is_refused() -> None:
    result = load(
        {24: "    strategy: reattach\n    maxUnavailable: 1", 21: "      disk: {kind: ephemeral, sizeGib: 100}"}
    )
    assert told(result) == [
        (
            "21:20",
            "KEDGE-SPEC-056",
            "pool `brokers` has an ephemeral disk, which `reattach` cannot move to the next VM",
            "Use `strategy: migrate`, or `kind: persistent`.",
        ),
    ]
    assert not result.ok


def test_a_second_listener_is_refused() -> None:
    result = load({24: "    strategy: migrate\n  listeners: [{}, {name: SECOND, port: 9192}]"})
    assert told(result) == [
        (
            "25:19",
            "KEDGE-SPEC-057",
            "2 listeners are given; one is offered where nodes speak plaintext",
            "Keep one of them.",
        ),
    ]
    assert not result.ok


@pytest.mark.parametrize("port", [2181, 2888, 3888, 9093])
def test_a_listener_at_a_port_where_firewalls_let_in_members_alone_is_refused(port: int) -> None:
    result = load({24: f"    strategy: migrate\n  listeners: [{{port: {port}}}]"})
    assert told(result) == [
        (
            "25:22",
            "KEDGE-SPEC-057",
            f"port {port} is one of controllers or of ZooKeeper: firewalls let in members alone",
            "Use 9092, or another port that is not one of 2181, 2888, 3888, 9093.",
        ),
    ]


def test_a_listener_named_like_that_of_the_quorum_is_refused() -> None:
    result = load({24: "    strategy: migrate\n  listeners: [{name: CONTROLLER}]"})
    assert told(result) == [
        (
            "25:22",
            "KEDGE-SPEC-057",
            "the name `CONTROLLER` belongs to the quorum's own listener",
            "Use `PLAINTEXT`.",
        ),
    ]
    assert not result.ok


def test_a_cluster_no_client_can_find_is_refused() -> None:
    result = load({24: "    strategy: migrate\n  bootstrap: {list: false}"})
    assert told(result) == [
        (
            "25:21",
            "KEDGE-SPEC-058",
            "`bootstrap` has neither a dns name nor a list, so no client can find the cluster",
            "Write `list: true`, or give a `dns` name.",
        ),
    ]
    assert not result.ok


def test_a_window_in_a_zone_nobody_knows_is_refused() -> None:
    result = load({24: "    windows: [{start: '02:00', duration: 4h, zone: Europe/Zurych}]"})
    assert [(code, message) for _, code, message, _ in told(result)] == [
        ("KEDGE-SPEC-059", "no time zone is called `Europe/Zurych`")
    ]


def test_a_window_too_short_for_anything_to_begin_in_is_refused() -> None:
    result = load({24: "    windows: [{start: '02:00', duration: 5m}]"})
    assert [(code, fix) for _, code, _, fix in told(result)] == [
        ("KEDGE-SPEC-059", "Let it stay open for 15m or longer.")
    ]


def test_a_window_is_read_as_it_is_written_by_yaml_too() -> None:
    result = load({24: "    windows: [{days: [sat, sun], start: 02:30, duration: 4h, zone: Europe/Zurich}]"})
    assert result.ok
    window = result.documents[0].spec.rollout.windows[0]
    assert (window.days, window.start, window.duration_s, window.zone) == (
        ("sat", "sun"),
        "02:30",
        14_400,
        "Europe/Zurich",
    )
