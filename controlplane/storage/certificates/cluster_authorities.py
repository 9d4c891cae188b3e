"""Where the CAs of clusters are kept: rows of the database, the private keys sealed under the home's server key.

They are made once for each cluster. Where they are gone and the cluster has certificates, none is made in their place:
nodes would not believe those that come with another.
"""

import contextlib
from dataclasses import dataclass
from typing import Any, Protocol, get_args

from sqlalchemy import Engine, Row, insert, select
from sqlalchemy.exc import IntegrityError

from controlplane.storage.certificates.cluster_authority import (
    AuthorityDamaged,
    AuthorityKind,
    ClusterAuthorities,
    ClusterAuthority,
    founded,
)
from controlplane.storage.tables import CLUSTER_AUTHORITY
from controlplane.storage.terraform_states.encryption import KeySeal, WrongKey
from events.clock import Clock, utc_now
from events.engine import reading, writing
from events.ids import ClusterUid


class AuthorityLost(Exception):
    """The CAs of a cluster are not there, or do not open. What now: give up; the words say what a person does."""


class ClusterAuthorityStore(Protocol):
    """Where they are kept."""

    def of(self, uid: ClusterUid) -> ClusterAuthorities | None:
        """None where none were made. Raises AuthorityLost when what is there cannot be used."""

    def found(self, uid: ClusterUid) -> ClusterAuthorities:
        """Those of the cluster, made now where there are none. Raises AuthorityLost."""


@dataclass(frozen=True, slots=True)
class SqlClusterAuthorities:
    """Thread-safe. `seal` is of the home's server key, which all homes of a database share. All verbs may raise
    StoreUnavailable."""

    engine: Engine
    seal: KeySeal
    clock: Clock = utc_now

    def of(self, uid: ClusterUid) -> ClusterAuthorities | None:
        """None where none were made. Raises AuthorityLost when what is there cannot be used."""
        wanted = select(CLUSTER_AUTHORITY).where(CLUSTER_AUTHORITY.c.cluster_uid == uid)
        with reading(self.engine) as connection:
            rows = {row.kind: row for row in connection.execute(wanted)}
        if not rows:
            return None
        try:
            found = {kind: self._opened(uid, kind, rows[kind]) for kind in get_args(AuthorityKind)}
        except KeyError as missing:
            raise AuthorityLost(f"the {missing.args[0]} CA of cluster {uid} is not in the database: {_NEXT}") from None
        return ClusterAuthorities(uid, found["cluster"], found["clients"])

    def found(self, uid: ClusterUid) -> ClusterAuthorities:
        """Those of the cluster, made now where there are none. Of two servers at once one makes them. Raises
        AuthorityLost."""
        there = self.of(uid)
        if there is not None:
            return there
        now = self.clock()
        made = founded(uid, now=now)
        rows = [
            {
                "cluster_uid": uid,
                "kind": kind,
                "certificate": authority.pem,
                "sealed_key": self.seal.seal(authority.private_key_pem(), subject=f"{uid}/{kind}"),
                "made_at": now,
            }
            for kind, authority in (("cluster", made.cluster), ("clients", made.clients))
        ]
        # Another server may be first: then theirs count.
        with contextlib.suppress(IntegrityError), writing(self.engine) as transaction:
            transaction.execute(insert(CLUSTER_AUTHORITY), rows)
        return self._there(uid)

    def _there(self, uid: ClusterUid) -> ClusterAuthorities:
        there = self.of(uid)
        if there is None:
            raise AuthorityLost(f"the CAs of cluster {uid} are gone as soon as they were made: {_NEXT}")
        return there

    def _opened(self, uid: ClusterUid, kind: AuthorityKind, row: Row[Any]) -> ClusterAuthority:
        try:
            key = self.seal.open(bytes(row.sealed_key), subject=f"{uid}/{kind}")
            return ClusterAuthority.kept(row.certificate, key)
        except WrongKey:
            raise AuthorityLost(
                f"the key of the {kind} CA of cluster {uid} does not open: it was sealed under the `server-key` of "
                "another home, or was changed. Stop the server and put that file into this home"
            ) from None
        except AuthorityDamaged as error:
            raise AuthorityLost(f"the {kind} CA of cluster {uid} is damaged ({error}): {_NEXT}") from None


_NEXT = "restore the database from a backup that has it (docs/kafka-security.md)"
