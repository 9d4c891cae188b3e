"""Seeded trouble of all sorts at once: P1-P9 after every step, convergence when it stops. Seeds are in test names."""

from typing import Any

import pytest

from providers.handover import Handover
from tests.sim.stories import troubled_roll
from tests.sim.sweep import sweep

REGRESSIONS = {
    2: "a broker outside the drain is lost: moves that wait for it are taken back",
    4: "a lost broker goes before missing ones",
    5: "a replacement that is itself replaced leaves the first one to be drained",
    14: "the successor of a successor takes over",
    25: "a dead controller gets its successor though another handover waits for the quorum",
    28: "draining what is replaced does not wait for the broker that is to be mended",
}


@pytest.mark.parametrize("seed", sorted(REGRESSIONS), ids=lambda s: f"seed-{s}-{REGRESSIONS[s].replace(' ', '-')}")
def test_a_seed_that_once_failed(seed: int) -> None:
    troubled_roll(seed)


def test_seed_2081_a_controller_is_not_stopped_a_moment_after_another_died() -> None:
    troubled_roll(2081, chance=0.15)


@pytest.mark.parametrize("seed", range(1000, 1060))
def test_it_converges_after_seeded_trouble(seed: int) -> None:
    troubled_roll(seed)


@pytest.mark.parametrize("seed", range(1100, 1104))
def test_it_converges_though_other_servers_take_over_in_the_middle_of_ticks(seed: int) -> None:
    assert troubled_roll(seed, chance=0.2, rivals=True).usurped > 0


@pytest.mark.parametrize("seed", range(1200, 1208))
def test_it_converges_though_settings_change_meanwhile(seed: int) -> None:
    world = troubled_roll(seed, chance=0.12, settings=True)
    assert {"settings.changed", "restart.completed"} & {r.type for r in world.history()}


@pytest.mark.parametrize("seed", range(1250, 1254))
def test_it_converges_though_brokers_fall_behind_while_settings_change(seed: int) -> None:
    """min ISR of the cluster among them, which a topic without a value of its own follows."""
    troubled_roll(seed, chance=0.2, settings=True, lagging=True)


@pytest.mark.parametrize("seed", range(1300, 1308))
def test_it_converges_though_people_ask_for_restarts_new_vms_and_empty_brokers(seed: int) -> None:
    world = troubled_roll(seed, chance=0.12, asking=True, brokers=6 if seed % 2 else 3)
    asked = {"rolling_restart.requested", "node.replace_requested", "evacuation.requested"}
    assert asked & {r.type for r in world.history()}


def test_seed_5018_a_successor_that_is_to_be_kept_empty_stops_nobody() -> None:
    troubled_roll(5018, chance=0.15, asking=True, settings=True)


@pytest.mark.parametrize("seed", range(1500, 1508))
def test_it_converges_though_services_become_unhealthy(seed: int) -> None:
    world = troubled_roll(seed, chance=0.12, unhealthy=True, steps=500)
    assert any(r.type == "healing.requested" for r in world.history())


def test_seed_7002_what_a_lost_broker_had_goes_to_its_successor_though_that_is_to_be_replaced_too() -> None:
    troubled_roll(7002, chance=0.15, unhealthy=True, asking=True, steps=500)


def test_seed_7011_a_sick_controller_is_not_restarted_a_moment_after_another_was_lost() -> None:
    troubled_roll(7011, chance=0.15, unhealthy=True, steps=500)


@pytest.mark.parametrize("seed", range(1600, 1606))
def test_it_converges_though_moves_and_elections_hang(seed: int) -> None:
    troubled_roll(seed, chance=0.12, hanging=True, steps=400, healing="hungAfter: 20s")


@pytest.mark.parametrize("seed", range(1703, 1706))
def test_it_converges_though_controllers_come_and_go_and_lose_their_disks(seed: int) -> None:
    world = troubled_roll(seed, chance=0.12, voting=True)
    assert {"voter.added", "voter.removed"} & {r.type for r in world.history()}


def test_seed_9061_controllers_leave_though_a_feature_level_was_being_raised_when_the_spec_changed() -> None:
    troubled_roll(9061, chance=0.15, voting=True, steps=400)


def test_seed_7156_a_controller_is_restarted_in_the_moment_another_one_dies_and_nobody_could_know() -> None:
    troubled_roll(7156, chance=0.15, unhealthy=True, asking=True, steps=100)


def test_seed_88123_a_broker_stopped_for_a_successor_that_died_gets_another_though_the_spec_wants_no_change() -> None:
    troubled_roll(88123, chance=0.15, asking=True, settings=True, strategy="reattach", max_unavailable=1)


@pytest.mark.parametrize("seed", range(1400, 1408))
def test_it_converges_where_an_old_vm_goes_before_its_address_and_disk_pass(seed: int) -> None:
    """Every other seed hands over brokers, too."""
    spec: dict[str, Any] = {"strategy": "reattach", "max_unavailable": 1} if seed % 2 else {}
    world = troubled_roll(seed, chance=0.12, handover=Handover.DELETE_FIRST, **spec)
    assert any(r.data.get("with_vm") for r in world.history() if r.type == "release.requested")


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_after_much_more_trouble_with_people_who_ask() -> None:
    def run(seed: int) -> object:
        return troubled_roll(seed, chance=0.15, asking=True, settings=seed % 2 == 0, brokers=6 if seed % 3 == 0 else 3)

    sweep("troubled_roll, chance=0.15, asking=True, seed", range(5000, 5300), run)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_after_much_more_trouble_with_illnesses() -> None:
    def run(seed: int) -> object:
        return troubled_roll(seed, chance=0.15, unhealthy=True, asking=seed % 2 == 0, steps=500)

    sweep("troubled_roll, chance=0.15, unhealthy=True, steps=500, seed", range(7000, 7300), run)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_after_much_more_trouble_with_moves_that_hang() -> None:
    def run(seed: int) -> object:
        return troubled_roll(
            seed, chance=0.15, hanging=True, rivals=seed % 2 == 0, steps=400, healing="hungAfter: 20s, perDay: 20"
        )

    sweep("troubled_roll, chance=0.15, hanging=True, steps=400, seed", range(8000, 8300), run)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_after_much_more_trouble_with_voters() -> None:
    def run(seed: int) -> object:
        handover = Handover.DELETE_FIRST if seed % 3 == 0 else Handover.REBIND
        return troubled_roll(seed, chance=0.15, voting=True, rivals=seed % 2 == 0, steps=400, handover=handover)

    sweep("troubled_roll, chance=0.15, voting=True, steps=400, seed", range(9000, 9300), run)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_after_much_more_trouble_with_settings() -> None:
    def run(seed: int) -> object:
        return troubled_roll(seed, chance=0.15, settings=True, rivals=seed % 2 == 0)

    sweep("troubled_roll, chance=0.15, settings=True, seed", range(4000, 4300), run)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_after_much_more_trouble_with_settings_and_brokers_that_fall_behind() -> None:
    def run(seed: int) -> object:
        return troubled_roll(seed, chance=0.2, settings=True, lagging=True)

    sweep("troubled_roll, chance=0.2, settings=True, lagging=True, seed", range(4300, 4400), run)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_after_much_more_trouble() -> None:
    sweep("troubled_roll, chance=0.15, seed", range(2000, 2600), lambda seed: troubled_roll(seed, chance=0.15))


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_after_much_more_trouble_with_rivals() -> None:
    def run(seed: int) -> object:
        return troubled_roll(seed, chance=0.15, rivals=True)

    sweep("troubled_roll, chance=0.15, rivals=True, seed", range(3000, 3300), run)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_after_much_more_trouble_where_an_old_vm_goes_first() -> None:
    def run(seed: int) -> object:
        spec: dict[str, Any] = {"strategy": "reattach", "max_unavailable": 1} if seed % 2 else {}
        return troubled_roll(seed, chance=0.15, handover=Handover.DELETE_FIRST, **spec)

    sweep("troubled_roll, chance=0.15, handover=DELETE_FIRST, seed", range(6000, 6300), run)
