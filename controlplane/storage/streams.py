"""Names of streams. A cluster's stream carries its uid: names may be reused, uids never are."""

from events.ids import ClusterUid

_CLUSTER = "cluster-"
NETWORKS = "networks"
"""The stream of the networks Kedge makes, of all accounts: one, so that no address is given twice."""

IMAGES = "images"
"""The stream of the image catalogue."""

AGENTS = "agents"
"""The stream of the agents VMs are to run."""

FREEZES = "freezes"
"""The stream of the freezes people declare."""

FAILOVERS = "failovers"
"""The stream in which clusters are given to pairs: one, so that no cluster is of two."""

PROPOSALS = "proposals"
"""The stream of changes that wait for a second person."""

_ANOMALIES = "anomalies-"
_PAIR = "failover-"


def cluster_stream(uid: ClusterUid) -> str:
    return f"{_CLUSTER}{uid}"


def cluster_uid_of(stream: str) -> ClusterUid | None:
    """The cluster a stream belongs to, None for other streams."""
    return ClusterUid(stream.removeprefix(_CLUSTER)) if stream.startswith(_CLUSTER) else None


def anomalies_stream(uid: ClusterUid) -> str:
    """The stream of what was found wrong in one cluster."""
    return f"{_ANOMALIES}{uid}"


def anomalies_uid_of(stream: str) -> ClusterUid | None:
    """The cluster whose anomalies a stream has, None for other streams."""
    return ClusterUid(stream.removeprefix(_ANOMALIES)) if stream.startswith(_ANOMALIES) else None


def pair_stream(uid: str) -> str:
    """The stream of one pair of clusters. It carries the pair's uid: a name may be used again."""
    return f"{_PAIR}{uid}"


def pair_uid_of(stream: str) -> str | None:
    """The pair a stream belongs to, None for other streams."""
    return stream.removeprefix(_PAIR) if stream.startswith(_PAIR) else None
