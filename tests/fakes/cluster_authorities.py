"""CAs of clusters in memory."""

from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.storage.certificates.cluster_authorities import NOTHING_OWN, AuthorityLost, chosen
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
        self.own: dict[str, ClusterAuthority] = {}
        """Of the user's own, by name."""
        self.is_away: set[str] = set()
        """Names of those whose files are away."""
        self._names: dict[str, str] = {}

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

    def found(self, uid: ClusterUid, own: Mapping[AuthorityKind, str] = NOTHING_OWN) -> ClusterAuthorities:
        """See ClusterAuthorityStore."""
        made = founded(uid, now=self._clock())
        its = {kind: self._of_user(name) for kind, name in own.items()}
        made = ClusterAuthorities(uid, its.get("cluster", made.cluster), its.get("clients", made.clients))
        return self.made.setdefault(uid, made)

    def succeed(self, uid: ClusterUid, kind: AuthorityKind, request: str, own: str = "") -> ClusterAuthority:
        """See ClusterAuthorityStore."""
        if own:
            found = self._of_user(own)
            if all(one.authority is not found for one in self._rows(uid)):
                self.successors.setdefault(uid, []).append(_Successor(f"{kind}:{request}", found))
            return found
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
        known = [one for one in (*first, *self.successors.get(uid, [])) if one.certificate not in self.removed]
        return [one for one in known if self._names.get(one.certificate) not in self.is_away]

    def _of_user(self, name: str) -> ClusterAuthority:
        if name in self.is_away or name not in self.own:
            raise AuthorityLost(f"CA `{name}`: its files are away")
        self._names[self.own[name].pem] = name
        return self.own[name]
