"""Faults on purpose, on real brokers under traffic: what is harmed heals, and a move that hangs on it is cured."""

import time

import pytest

from controlplane.api.schemas import chaos as chaos_api, games as game_api
from controlplane.cli.chaos_game import follow
from controlplane.cli.errors import Refused
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(450)]

SPEC = ClusterSpec(name="hurt", controllers=3, hung_after_s=8)


def _inject(cluster: LivingCluster, fault: str, vm: str, *, for_s: float, force: bool = False) -> chaos_api.ChaosOut:
    order = chaos_api.ChaosIn(fault=fault, vms=[vm], for_s=for_s, force=force, reason="e2e")
    return cluster.client.inject_chaos(cluster.spec.name, order)


def test_a_move_that_hangs_on_a_frozen_target_is_taken_back_and_the_target_replaced(
    living_cluster: LivingCluster,
) -> None:
    cluster = living_cluster
    with traffic(cluster.bootstrap):
        before = cluster.roll_slowly("one")
        new = cluster.instance("one-a-0").key
        with pytest.raises(Refused) as refused:
            _inject(cluster, "pause", new, for_s=60)
        assert refused.value.code == "not-whole"
        _inject(cluster, "pause", new, for_s=60, force=True)
        cure = cluster.event("move_cure.requested", before).data
        assert (cure["diagnosis"], cure["cure"]) == ("TargetDead", "take_back")
        cluster.event("node.replace_requested", before, where=new)
        cluster.event("chaos.ended", before)
        settled(cluster)
        assert cluster.instance("one-a-0").key != new


def test_a_game_day_heals_every_fault_and_loses_nothing(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    told: list[str] = []
    with traffic(cluster.bootstrap, may_fall_below_min_isr=True):
        order = game_api.GameIn(
            events=3,
            seed=3,
            within_s=180,
            lasts_s=12,
            heal_within_s=120,
            faults=["kill-broker", "kill-agent", "pause"],
        )
        begun = cluster.client.start_game(cluster.spec.name, order)
        report = follow(cluster.client, begun, sleep=time.sleep, tell=told.append)
    print("\n".join(told), report)
    assert (len(report.events), report.stopped) == (3, ""), report
    assert all(e.judged and e.healed_s is not None for e in report.events), report
    assert cluster.client.games(cluster.spec.name).games[0] == report


def test_a_game_day_whose_server_is_killed_is_ended_by_the_next_one_and_harms_nothing_more(
    living_cluster: LivingCluster,
) -> None:
    cluster, name = living_cluster, living_cluster.spec.name
    order = game_api.GameIn(events=5, seed=3, lasts_s=20, faults=["pause"])
    game = cluster.client.start_game(name, order).game
    cluster.until(lambda: cluster.client.game(name, game).events or None, "the first fault", timeout_s=60)
    cluster.server.kill()
    cluster.start_server()

    def over() -> game_api.GameOut | None:
        told = cluster.client.game(name, game)
        return told if told.ended_at is not None else None

    report = cluster.until(over, "the end of the game", timeout_s=90)
    cluster.until(lambda: cluster.client.health(name).healthy or None, "full health", timeout_s=120)
    print(report)
    assert report.stopped.startswith("the server that played it is gone"), report
    assert len(report.events) == 1, report
    assert cluster.client.game(name, game) == report


def test_a_volume_that_is_lost_for_a_while_comes_back_with_its_data(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    key = cluster.instance("three-c-0").key
    with traffic(cluster.bootstrap, may_fall_below_min_isr=True):
        before = cluster.head()
        _inject(cluster, "lose-volume", key, for_s=25)
        cluster.event("chaos.ended", before)
        cluster.until(lambda: cluster.client.health(cluster.spec.name).healthy or None, "full health", timeout_s=120)
