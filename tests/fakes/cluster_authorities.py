"""CAs of clusters in memory."""

from dataclasses import dataclass

from controlplane.storage.certificates.cluster_authorities import chosen
from controlplane.storage.certificates.cluster_authority import (
    AuthorityKind,
    ClusterAuthorities,
    ClusterAuthority,
    founded,
)
from events.clock import Clock, utc_now
from events.ids import ClusterUid


@dataclass(frozen=True)
class _Successor:
    kind: str
    authority: ClusterAuthority

    @property
    def certificate(self) -> str:
        return self.authority.pem


class MemoryClusterAuthorities:
    """Of one process. Whoever takes one out of `made` has lost it."""

    def __init__(self, clock: Clock = utc_now) -> None:
        self._clock = clock
        self.made: dict[ClusterUid, ClusterAuthorities] = {}
        self.successors: dict[ClusterUid, list[_Successor]] = {}
        self.removed: set[str] = set()

    def of(self, uid: ClusterUid, *, cluster: str = "", clients: str = "") -> ClusterAuthorities | None:
        """See ClusterAuthorityStore."""
        if uid not in self.made:
            return None
        rows = self._rows(uid)
        return ClusterAuthorities(
            uid,
            chosen(uid, "cluster", rows, cluster).authority,
            chosen(uid, "clients", rows, clients).authority,
        )

    def found(self, uid: ClusterUid) -> ClusterAuthorities:
        """See ClusterAuthorityStore."""
        return self.made.setdefault(uid, founded(uid, now=self._clock()))

    def succeed(self, uid: ClusterUid, kind: AuthorityKind, request: str) -> ClusterAuthority:
        """See ClusterAuthorityStore."""
        name, there = f"{kind}:{request}", self.successors.setdefault(uid, [])
        if all(one.kind != name for one in there):
            there.append(
                _Successor(name, ClusterAuthority.founded(uid, kind, now=self._clock(), successor=request[:8]))
            )
        return next(one.authority for one in there if one.kind == name)

    def remove(self, uid: ClusterUid, certificate: str) -> None:
        """See ClusterAuthorityStore."""
        self.removed.add(certificate)

    def _rows(self, uid: ClusterUid) -> list[_Successor]:
        made = self.made[uid]
        first = [_Successor("cluster", made.cluster), _Successor("clients", made.clients)]
        return [one for one in (*first, *self.successors.get(uid, [])) if one.certificate not in self.removed]
