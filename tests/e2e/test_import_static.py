"""A quorum of three plain Kafka controllers that began static is made dynamic by Kedge, while clients write and read;
then VMs of Kedge's join it, and take over what the brokers there held."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.kafka.features import KRAFT
from planner.observed import VoterSeen
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.imported_cluster import POOL, Imported
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic
from tests.kafka_processes import KafkaProcesses

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(460)]

VOTERS = (100, 101, 102)
THEIRS = {1: "a", 2: "b", 3: "c"}
NAME = "static"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Imported]:
    root = tmp_path_factory.mktemp("static")
    theirs = KafkaProcesses(root / "theirs", controllers=VOTERS, network="127.0.69", static=True, pace={})
    allow = {"KEDGE_EXTERNAL_ALLOW": '["127.0.69.0/24"]'}
    kedge = LivingCluster(root / "home", spec=ClusterSpec(name=NAME), settings=allow)
    try:
        theirs.found(THEIRS, timeout_s=90)
        kedge.start_server()
        yield Imported(theirs, kedge, NAME, {})
    finally:
        strays = kedge.close()
        theirs.close()
        assert strays == [], "something outlived the test"


def test_a_static_quorum_is_watched_and_no_vm_is_made_for_it(imported: Imported, tmp_path: Path) -> None:
    assert "quorum: dynamic" in imported.read(tmp_path), "the spec says what may be asked for"
    imported.apply(60)
    imported.declare(pools=[POOL], rollout={"throttleMibPerS": 32, "linger": 1, "joinDeadline": 90})
    assert "quorum: dynamic" in imported.kedge.blocked("ExternalQuorumStatic").message
    assert imported.kedge.vms() == set()
    assert _level(imported) == 0


def test_it_is_made_dynamic_once_every_voter_keeps_up_and_vms_join_it(imported: Imported) -> None:
    kedge, theirs = imported.kedge, imported.theirs
    with traffic(kedge.bootstrap) as clients:
        leader = kedge.snapshot().quorum.leader
        away = next(v for v in VOTERS if v != leader)
        theirs.stop(away)
        kedge.until(lambda: max(m.silent_s for m in _voters(imported)) > 6, "its silence", timeout_s=30)
        before = imported.declare(external=imported.external(quorum="dynamic"))
        assert f"{away} is" in kedge.blocked("QuorumGate").message
        assert (_level(imported), kedge.vms()) == (0, set())

        theirs.start(away)
        raised = kedge.event("feature.finalised", before, within_s=60)
        assert raised.data == {"feature": KRAFT, "level": 1}
        kedge.event("recycle.completed", before, within_s=120)
        kedge.converged()
        written = clients.acknowledged

        assert _level(imported) == 1
        directories = {v: theirs.nodes[v].directory_id for v in VOTERS}
        assert {m.id: m.directory_id for m in _voters(imported)} == directories
        ours = {i.service_id for i in kedge.detail().instances}
        assert len(ours) == 3
        assert kedge.snapshot().live_brokers() == ours | set(THEIRS)
        asked = kedge.event("finalisation.requested", before).at
        joined = kedge.event("instance.joined", before).at
        print(
            f"asked for to told with directories {(raised.at - asked).total_seconds():.1f} s, to the first broker that "
            f"joined {(joined - asked).total_seconds():.0f} s; {written} records acknowledged by then"
        )


def test_its_owner_changes_the_files_of_the_voters_and_brokers_are_emptied_onto_ours(imported: Imported) -> None:
    """Each controller is started anew, told where controllers are and no longer who votes: as whoever runs it would."""
    kedge, theirs = imported.kedge, imported.theirs
    with traffic(kedge.bootstrap):
        leader = kedge.snapshot().quorum.leader
        theirs.static = False
        for voter in sorted(VOTERS, key=lambda v: v == leader):
            theirs.stop(voter)
            theirs.start(voter)
            kedge.until(lambda: all(m.silent_s < 2 and m.lag < 20 for m in _voters(imported)), "it", timeout_s=60)
        imported.apply(150, external=imported.without(*THEIRS))
        assert not [p.name for p in kedge.snapshot().partitions if set(p.replicas) & set(THEIRS)]
        assert all(theirs.nodes[b].is_running for b in THEIRS)
    assert {m.id for m in _voters(imported)} == set(VOTERS)


def _level(imported: Imported) -> int:
    return imported.kedge.snapshot_at(imported.theirs.bootstrap).features[KRAFT].finalised


def _voters(imported: Imported) -> list[VoterSeen]:
    seen = imported.kedge.snapshot_at(imported.theirs.bootstrap)
    return [m for m in seen.quorum.members if m.is_voter]
