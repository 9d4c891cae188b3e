"""The HTTP API as typed calls. What can go wrong on the way becomes an error that says what to do next. Lists are read
whole, but for those of which somebody says how much is wanted.

Every POST carries an Idempotency-Key, so a request whose answer was lost is simply sent again with the same key.
"""

from controlplane.cli.clients.acls import AclCalls
from controlplane.cli.clients.anomalies import AnomalyCalls
from controlplane.cli.clients.chaos import ChaosCalls
from controlplane.cli.clients.clusters import ClusterCalls
from controlplane.cli.clients.fleet import FleetCalls
from controlplane.cli.clients.installation import InstallationCalls
from controlplane.cli.clients.kafka_users import KafkaUserCalls
from controlplane.cli.clients.nodes import NodeCalls
from controlplane.cli.clients.specs import SpecCalls
from controlplane.cli.clients.topics import TopicCalls


class Client(
    ClusterCalls,
    SpecCalls,
    NodeCalls,
    TopicCalls,
    KafkaUserCalls,
    AclCalls,
    AnomalyCalls,
    ChaosCalls,
    FleetCalls,
    InstallationCalls,
):
    """Talks to one server. Methods raise Unreachable, Refused and CliError; those of a cluster UnknownCluster too."""
