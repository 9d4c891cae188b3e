"""Where the CAs of clusters are kept: rows of the database, the private keys sealed under the home's server key.

They are made once for each cluster. Where they are gone and the cluster has certificates, none is made in their place:
nodes would not believe those that come with another.
"""

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Protocol, TypeVar, get_args

from sqlalchemy import Engine, Row, delete, insert, select
from sqlalchemy.exc import IntegrityError

from controlplane.storage.certificates.cluster_authority import (
    AuthorityDamaged,
    AuthorityKind,
    ClusterAuthorities,
    ClusterAuthority,
)
from controlplane.storage.certificates.own_authorities import (
    NO_OWN_AUTHORITIES,
    OwnAuthorities,
    OwnAuthorityUnusable,
)
from controlplane.storage.tables import CLUSTER_AUTHORITY
from controlplane.storage.terraform_states.encryption import KeySeal, WrongKey
from events.clock import Clock, utc_now
from events.engine import reading, writing
from events.ids import ClusterUid

GIVEN_UP = "given-up"
"""Kind of the row that says of a certificate: its key is gone for good. It holds none. Copies know by it that the CA
was given up, and is not just missing from a database that was restored; a release before it looks for other kinds."""


NOTHING_OWN: Mapping[AuthorityKind, str] = MappingProxyType({})


class AuthorityLost(Exception):
    """The CAs of a cluster are not there, or do not open. What now: give up; the words say what a person does."""


class ClusterAuthorityStore(Protocol):
    """Where they are kept. While one is replaced there are two of its kind."""

    def of(self, uid: ClusterUid, *, cluster: str = "", clients: str = "") -> ClusterAuthorities | None:
        """The two that have these certificates (PEM); where none is named, the older one of a kind. None where none
        were made. Raises AuthorityLost when what is there cannot be used, or is not the one that is named."""

    def found(self, uid: ClusterUid, own: Mapping[AuthorityKind, str] = NOTHING_OWN) -> ClusterAuthorities:
        """Those of the cluster, made now where there are none; of the kinds in `own` those of the user's with these
        names. Raises AuthorityLost."""

    def succeed(self, uid: ClusterUid, kind: AuthorityKind, request: str, own: str = "") -> ClusterAuthority:
        """Another one of the kind, which is to take the place of the one that is there: made once for a request, or
        where it is `own` the user's of that name as it is now. Raises AuthorityLost."""

    def remove(self, uid: ClusterUid, certificate: str) -> None:
        """The key of the CA with this certificate (PEM) goes for good, and that it did is kept. Nothing where it is
        gone already."""


@dataclass(frozen=True, slots=True)
class SqlClusterAuthorities:
    """Thread-safe. `seal` is of the home's server key, which all homes of a database share. All verbs may raise
    StoreUnavailable. A row's `kind` is that of its CA, of a successor with its request behind a colon; of one that was
    given up see `GIVEN_UP`."""

    engine: Engine
    seal: KeySeal
    clock: Clock = utc_now
    own: OwnAuthorities = NO_OWN_AUTHORITIES

    def of(self, uid: ClusterUid, *, cluster: str = "", clients: str = "") -> ClusterAuthorities | None:
        """See ClusterAuthorityStore."""
        rows = self._rows(uid)
        if not rows and not (cluster and clients):
            return None
        named = {"cluster": cluster, "clients": clients}
        found = {kind: self._named(uid, kind, rows, named[kind]) for kind in get_args(AuthorityKind)}
        return ClusterAuthorities(uid, found["cluster"], found["clients"])

    def found(self, uid: ClusterUid, own: Mapping[AuthorityKind, str] = NOTHING_OWN) -> ClusterAuthorities:
        """See ClusterAuthorityStore. Of two servers at once one makes them."""
        kinds: tuple[AuthorityKind, ...] = get_args(AuthorityKind)
        theirs = {kind: self._wanted(kind, own[kind]) for kind in kinds if kind in own}
        there, now = {row.kind for row in self._rows(uid)}, self.clock()
        missing = [kind for kind in kinds if kind not in theirs and not there]
        rows = [self._row(uid, kind, ClusterAuthority.founded(uid, kind, now=now), now) for kind in missing]
        if rows:
            # Another server may be first: then theirs count.
            with contextlib.suppress(IntegrityError), writing(self.engine) as transaction:
                transaction.execute(insert(CLUSTER_AUTHORITY), rows)
        kept = self._rows(uid)
        found = {kind: theirs[kind] if kind in theirs else self._named(uid, kind, kept, "") for kind in kinds}
        return ClusterAuthorities(uid, found["cluster"], found["clients"])

    def succeed(self, uid: ClusterUid, kind: AuthorityKind, request: str, own: str = "") -> ClusterAuthority:
        """See ClusterAuthorityStore. Of two servers at once one makes it."""
        if own:
            return self._wanted(kind, own)
        name, now = f"{kind}:{request}", self.clock()
        there = [row for row in self._rows(uid) if row.kind == name]
        if not there:
            made = ClusterAuthority.founded(uid, kind, now=now, successor=request[:8])
            with contextlib.suppress(IntegrityError), writing(self.engine) as transaction:
                transaction.execute(insert(CLUSTER_AUTHORITY), [self._row(uid, name, made, now)])
            there = [row for row in self._rows(uid) if row.kind == name]
        if not there:
            raise AuthorityLost(f"the new {kind} CA of cluster {uid} is gone as soon as it was made: {_NEXT}")
        return self._opened(uid, there[0])

    def remove(self, uid: ClusterUid, certificate: str) -> None:
        """See ClusterAuthorityStore."""
        its = (CLUSTER_AUTHORITY.c.cluster_uid == uid) & (CLUSTER_AUTHORITY.c.certificate == certificate)
        with_key = its & ~CLUSTER_AUTHORITY.c.kind.startswith(GIVEN_UP)
        digits = hashlib.sha256(certificate.encode()).hexdigest()[:16]
        with writing(self.engine) as transaction:
            made_at = transaction.execute(select(CLUSTER_AUTHORITY.c.made_at).where(with_key)).scalar()
            if made_at is None:
                return
            transaction.execute(delete(CLUSTER_AUTHORITY).where(with_key))
            gone = {"cluster_uid": uid, "kind": f"{GIVEN_UP}:{digits}", "certificate": certificate}
            transaction.execute(insert(CLUSTER_AUTHORITY), [{**gone, "sealed_key": b"", "made_at": made_at}])

    def _rows(self, uid: ClusterUid) -> Sequence[Row[Any]]:
        """Those that have a key, the older ones first."""
        is_given_up = CLUSTER_AUTHORITY.c.kind.startswith(GIVEN_UP)
        wanted = select(CLUSTER_AUTHORITY).where(CLUSTER_AUTHORITY.c.cluster_uid == uid, ~is_given_up)
        with reading(self.engine) as connection:
            return connection.execute(wanted.order_by(CLUSTER_AUTHORITY.c.made_at, CLUSTER_AUTHORITY.c.kind)).all()

    def _row(self, uid: ClusterUid, name: str, authority: ClusterAuthority, now: datetime) -> dict[str, object]:
        sealed = self.seal.seal(authority.private_key_pem(), subject=f"{uid}/{name}")
        return {
            "cluster_uid": uid,
            "kind": name,
            "certificate": authority.pem,
            "sealed_key": sealed,
            "made_at": now,
        }

    def _wanted(self, kind: AuthorityKind, name: str) -> ClusterAuthority:
        try:
            return self.own.wanted(name)
        except OwnAuthorityUnusable as unusable:
            raise AuthorityLost(f"the {kind} CA is the user's own: {unusable}") from None

    def _named(self, uid: ClusterUid, kind: str, rows: Sequence[Row[Any]], certificate: str) -> ClusterAuthority:
        """Of the rows, or of the user's files, which no row is of."""
        if not certificate or any(row.certificate == certificate for row in rows):
            return self._opened(uid, chosen(uid, kind, rows, certificate))
        own = self.own.of(certificate)
        if own is None:
            raise AuthorityLost(
                f"the {kind} CA that nodes of cluster {uid} believe is not in the database, nor in a directory of "
                f"[kafka.own_cas]: if it is your own, put its files back, beside those of its successor; else {_NEXT}"
            )
        return own

    def _opened(self, uid: ClusterUid, row: Row[Any]) -> ClusterAuthority:
        kind = row.kind.partition(":")[0]
        try:
            key = self.seal.open(bytes(row.sealed_key), subject=f"{uid}/{row.kind}")
            return ClusterAuthority.kept(row.certificate, key)
        except WrongKey:
            raise AuthorityLost(
                f"the key of the {kind} CA of cluster {uid} does not open: it was sealed under the `server-key` of "
                "another home, or was changed. Stop the server and put that file into this home"
            ) from None
        except AuthorityDamaged as error:
            raise AuthorityLost(f"the {kind} CA of cluster {uid} is damaged ({error}): {_NEXT}") from None


class _KeptAuthority(Protocol):
    @property
    def kind(self) -> str: ...
    @property
    def certificate(self) -> str: ...


_Row = TypeVar("_Row", bound=_KeptAuthority)


def chosen(uid: ClusterUid, kind: str, rows: Sequence[_Row], certificate: str) -> _Row:
    """Of rows, the older ones first: the CA of this kind that has that certificate, any where none is named. Raises
    AuthorityLost."""
    there = [row for row in rows if row.kind.partition(":")[0] == kind]
    found = next((row for row in there if certificate in ("", row.certificate)), None)
    if found is None:
        which = f"that nodes of cluster {uid} believe" if there else f"of cluster {uid}"
        raise AuthorityLost(f"the {kind} CA {which} is not in the database: {_NEXT}")
    return found


_NEXT = "restore the database from a backup that has it (docs/kafka-certificates.md)"
