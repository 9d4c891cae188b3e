"""CAs of clusters in memory."""

from controlplane.storage.certificates.cluster_authority import ClusterAuthorities, founded
from events.clock import Clock, utc_now
from events.ids import ClusterUid


class MemoryClusterAuthorities:
    """Of one process. Whoever takes one out of `made` has lost it."""

    def __init__(self, clock: Clock = utc_now) -> None:
        self._clock = clock
        self.made: dict[ClusterUid, ClusterAuthorities] = {}

    def of(self, uid: ClusterUid) -> ClusterAuthorities | None:
        """See ClusterAuthorityStore."""
        return self.made.get(uid)

    def found(self, uid: ClusterUid) -> ClusterAuthorities:
        """See ClusterAuthorityStore."""
        return self.made.setdefault(uid, founded(uid, now=self._clock()))
