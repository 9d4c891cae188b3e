"""Fifty faults drawn by a seed on a loaded cluster of six brokers, one VM at a time, played by the server: each heals,
and nothing that was acknowledged is lost. Half an hour, more on a machine with other work.
"""

import time
from dataclasses import replace

import pytest

from controlplane.api.schemas import games as game_api
from controlplane.cli.chaos_game import follow
from controlplane.commands.deciders.games import LOCAL_FAULTS
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic
from tests.marks import A_NETWORK_FOR_EACH_VM

WITHIN_S = 5400.0
pytestmark = [
    pytest.mark.soak,
    pytest.mark.kafka,
    pytest.mark.timeout(WITHIN_S + 900),
    A_NETWORK_FOR_EACH_VM,
]

SIX = ClusterSpec(name="fifty", controllers=3, join_deadline_s=180)
SPEC = replace(SIX, sizes=dict.fromkeys(SIX.sizes, 2))
SERVER_SETTINGS = {"KEDGE_CLOUDS__VM_NETWORK": "namespaces", "KEDGE_CLOUDS__ENFORCE_DISK": "1"}

FAULTS, SEED = 50, 11
HEALED_WITHIN_S = (120.0, 300.0)
"""p50 and p95 of the time from a fault to full health."""
_OF_NETWORK_AND_DISK = ("split", "packet-loss", "slow-disk", "full-disk")


def test_fifty_faults_heal_and_no_acknowledged_record_is_lost(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    with traffic(cluster.bootstrap, may_fall_below_min_isr=True) as workload:
        order = game_api.GameIn(
            events=FAULTS,
            seed=SEED,
            within_s=WITHIN_S,
            lasts_s=12,
            heal_within_s=HEALED_WITHIN_S[1],
            faults=[*LOCAL_FAULTS, *_OF_NETWORK_AND_DISK],
        )
        begun = cluster.client.start_game(cluster.spec.name, order)
        report = follow(cluster.client, begun, sleep=time.sleep, tell=lambda words: print(words, flush=True))
    print(f"seed {SEED}, {workload.acknowledged} records acknowledged, none lost\n{report.model_dump_json()}")
    assert (len(report.events), report.stopped) == (FAULTS, ""), report.sentence
    assert all(e.judged and e.healed_s is not None for e in report.events), report
    assert (report.healed_p50_s or 0.0) <= HEALED_WITHIN_S[0], report
    assert (report.healed_p95_s or 0.0) <= HEALED_WITHIN_S[1], report
    settled(cluster)
