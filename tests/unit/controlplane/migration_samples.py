"""One of each event of a migration from ZooKeeper to KRaft, and the states they are said in."""

from collections.abc import Mapping
from dataclasses import replace

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.migration import MigrationView
from controlplane.kafka.zookeeper.migration import Knows
from events import facts
from tests.builders import BEFORE, a_document, a_view, a_zookeeper_document
from tests.changed_view import changed_view

CONTROLLER = facts.FoundingVoter("controllers-a-0", 103, "127.64.0.7", 9093, "dir-103")
ENDED = facts.MigrationEnded("kraft", "the cluster keeps its metadata itself: nobody needs the ensemble")

MIGRATION_SAMPLES: tuple[object, ...] = (
    facts.MigrationBegun(2, "the spec of generation 2 asks for mode kraft, and every VM is as declared"),
    facts.MigrationQuorumFounded("3.9", (CONTROLLER,)),
    facts.MigrationServiceStarted("broker", (1000,), "both", False, "broker 1000 is told of both, 0 are by now"),
    facts.MigrationServiceStopped("broker", (1000,), "broker 1000 will lead: it stops while others do"),
    facts.MigrationTurned("zookeeper", 3, "the spec of generation 3 asks for mode zookeeper"),
    ENDED,
)


def in_zookeeper_mode(**changes: object) -> ClusterView:
    """Three brokers of 3.9.1 and what is recorded of their ensemble; the spec in force asks for KRaft."""
    known = changed_view(
        a_view(),
        document=a_document(version="3.9.1"),
        generation=2,
        ensemble_spec=a_zookeeper_document(version="3.9.1"),
        protocol="3.9",
        cluster_id_fixed=True,
    )
    return changed_view(known, **changes)


def migrating(*, founded: bool = True, **changes: object) -> ClusterView:
    """The same while the migration is in hand."""
    founding = facts.QuorumFounded("kafka-cluster", "3.9", (CONTROLLER,)) if founded else None
    migration = MigrationView("kraft", 2, BEFORE, a_document(version="3.9.1"), founding)
    return in_zookeeper_mode(migration=replace(migration, **changes))  # type: ignore[arg-type]


def migration_states() -> Mapping[type, ClusterView]:
    """The state each event is said in."""
    return {
        facts.MigrationBegun: in_zookeeper_mode(),
        facts.MigrationQuorumFounded: migrating(founded=False),
        facts.MigrationServiceStarted: migrating(),
        facts.MigrationServiceStopped: migrating(knows={1000: Knows.BOTH}),
        facts.MigrationTurned: migrating(),
        facts.MigrationEnded: migrating(knows={103: Knows.QUORUM, 1000: Knows.QUORUM}),
    }
