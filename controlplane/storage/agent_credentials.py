"""Credentials of agents, by their hash. First use wins: a VM's enrolment token that leaks later enrols nobody else.

Keyed by (cluster, node, generation): the credential of a VM says nothing about its successor's. Its agent rotates it:
the next one is recorded while the one in force still counts, and takes its place when it is shown for the first time.
So a crash on either side never leaves an agent without one that counts, and the old one ends with the first use of
the new one.

A VM that has shown a certificate once is heard with one only, for ever after: its credential alone opens nothing.
"""

import hmac
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Connection, Engine, Row, insert, select, update
from sqlalchemy.exc import IntegrityError

from controlplane.storage.tables import AGENT_CREDENTIAL
from events.clock import Clock, utc_now
from events.engine import reading, writing
from events.ids import ClusterUid, IntentId, NodeName

_log = logging.getLogger(__name__)

_ON_THEIR_WAY = timedelta(minutes=1)
"""After a rotation requests with the old credential may still arrive: refused, and no sign of a copy."""
_CLOCKS_DIFFER = timedelta(minutes=5)
"""Servers' clocks may differ by that much; a credential from further in the future has an unknown age."""


@dataclass(frozen=True, slots=True)
class Vm:
    """One VM: the instance of a node in one generation."""

    cluster_uid: ClusterUid
    node: NodeName
    generation: int


@dataclass(frozen=True, slots=True)
class Credential:
    """The SHA-256 (hex) of what the agent made on the VM; `intent_id` is the intent whose token enrolled it.

    `next_sha256` counts as well until it is shown, `earlier_sha256` no longer does. `outdated_shown_at`: when somebody
    last showed the earlier one though its agent had let go of it: somebody may hold a copy. `certified_at`: when its
    agent showed a certificate for the first time, None as long as it has not.
    """

    vm: Vm
    credential_sha256: str
    intent_id: IntentId
    enrolled_at: datetime
    next_sha256: str | None = None
    earlier_sha256: str | None = None
    rotated_at: datetime | None = None
    outdated_shown_at: datetime | None = None
    certified_at: datetime | None = None

    @property
    def since(self) -> datetime:
        """When the one in force came into force."""
        return self.rotated_at or self.enrolled_at

    def is_older_than(self, life: timedelta, now: datetime) -> bool:
        """By the server's clock; one that has been set back makes the age unknown, and that is old."""
        return not -_CLOCKS_DIFFER <= now - self.since < life


class CredentialRefused(Exception):
    """Somebody else was first, or the credential is wrong. What now: refuse; the VM is imitated or was made twice."""


class CredentialStore(Protocol):
    """Contract: tests/contract/test_credential_store.py."""

    def enroll(self, vm: Vm, *, credential_sha256: str, intent_id: IntentId) -> Credential:
        """Binds the VM to its first credential; the same one again is answered again. Raises CredentialRefused."""

    def rotate(self, vm: Vm, *, shown_sha256: str, next_sha256: str) -> Credential:
        """Records the next credential for whoever shows the one in force, which counts on. Idempotent.

        Raises CredentialRefused, also for a next one that was in force before.
        """

    def recognise(self, vm: Vm, sha256: str, *, is_certified: bool = False) -> Credential | None:
        """The VM's credential if that is the one in force, or the next one, which is in force from now on.

        `is_certified`: it came with a certificate of the VM, and is to come with one for ever after. Without one a VM
        that has shown one is still told by its credential, and nothing changes: the caller refuses it.
        """

    def get(self, vm: Vm) -> Credential | None:
        """What is enrolled for a VM."""

    def of_cluster(self, cluster_uid: ClusterUid) -> Mapping[Vm, Credential]:
        """What is enrolled for the VMs of a cluster, those of long ago among them."""


class SqlCredentialStore:
    """A `CredentialStore` of rows. All verbs may raise StoreUnavailable."""

    def __init__(self, engine: Engine, clock: Clock = utc_now) -> None:
        self._engine = engine
        self._clock = clock

    def enroll(self, vm: Vm, *, credential_sha256: str, intent_id: IntentId) -> Credential:
        """See CredentialStore. Of two at once the table's key lets one in."""
        known = self.get(vm)
        if known is None:
            fresh = Credential(vm, credential_sha256, intent_id, self._clock())
            try:
                with writing(self._engine) as transaction:
                    transaction.execute(insert(AGENT_CREDENTIAL).values(_values(fresh)))
                return fresh
            except IntegrityError:
                known = self.get(vm)
                if known is None:
                    raise
        return same_or_refused(known, credential_sha256)

    def rotate(self, vm: Vm, *, shown_sha256: str, next_sha256: str) -> Credential:
        with writing(self._engine) as transaction:
            known = _locked(transaction, vm)
            return _kept(transaction, known, rotation_of(vm, known, shown_sha256, next_sha256))

    def recognise(self, vm: Vm, sha256: str, *, is_certified: bool = False) -> Credential | None:
        """See CredentialStore. Writes nothing but for first showings, and for an outdated one."""
        before, now = self.get(vm), self._clock()
        known = before
        if before is not None and after_showing(before, sha256, now, is_certified) != before:
            with writing(self._engine) as transaction:
                known = _locked(transaction, vm)
                if known is not None:
                    known = _kept(transaction, known, after_showing(known, sha256, now, is_certified))
            _log.log(*_log_entry(before, known, sha256))
        return known if is_credential_of(known, sha256) else None

    def get(self, vm: Vm) -> Credential | None:
        with reading(self._engine) as connection:
            row = connection.execute(select(AGENT_CREDENTIAL).where(_is(vm))).one_or_none()
            return None if row is None else _credential(row)

    def of_cluster(self, cluster_uid: ClusterUid) -> Mapping[Vm, Credential]:
        with reading(self._engine) as connection:
            wanted = select(AGENT_CREDENTIAL).where(AGENT_CREDENTIAL.c.cluster_uid == cluster_uid)
            found = [_credential(row) for row in connection.execute(wanted)]
            return {credential.vm: credential for credential in found}


def same_or_refused(known: Credential, credential_sha256: str) -> Credential:
    # The next one too: an agent that put it in force, and was then told that nobody knows it, enrols it.
    if not is_credential_of(known, credential_sha256):
        raise CredentialRefused(
            f"{_named(known.vm)} enrolled another credential at {known.enrolled_at.isoformat(timespec='seconds')}: "
            "refused. If that was not its own agent, replace the node: its next generation gets a new token."
        )
    return known


def rotation_of(vm: Vm, known: Credential | None, shown_sha256: str, next_sha256: str) -> Credential:
    if known is None or not is_in_force(known, shown_sha256):
        raise CredentialRefused(f"{_named(vm)} showed a credential that is not in force: nothing was rotated")
    if is_in_force(known, next_sha256):  # in force already: the answer to the first try was lost
        return known
    if _same(known.earlier_sha256, next_sha256):
        raise CredentialRefused(f"{_named(vm)} wants back to the credential it had before: nothing was rotated")
    return replace(known, next_sha256=next_sha256)


def after_showing(known: Credential, sha256: str, now: datetime, is_certified: bool) -> Credential:
    """What is known once somebody has shown that secret for the VM, with its certificate or without."""
    if is_credential_of(known, sha256) and is_certified and known.certified_at is None:
        known = replace(known, certified_at=now)
    if is_in_force(known, sha256):
        return known
    if _same(known.next_sha256, sha256):
        if known.certified_at is not None and not is_certified:
            return known  # a copy of the secret, without the key: it is nobody who may change anything
        return replace(
            known,
            credential_sha256=sha256,
            next_sha256=None,
            earlier_sha256=known.credential_sha256,
            rotated_at=now,
        )
    if _same(known.earlier_sha256, sha256) and _is_over(known.since, now) and _is_over(known.outdated_shown_at, now):
        return replace(known, outdated_shown_at=now)
    return known


def _is_over(moment: datetime | None, now: datetime) -> bool:
    return moment is None or abs(now - moment) > _ON_THEIR_WAY


def is_in_force(known: Credential | None, sha256: str) -> bool:
    """Whether that is the VM's secret in force."""
    return known is not None and _same(known.credential_sha256, sha256)


def is_credential_of(known: Credential | None, sha256: str) -> bool:
    """Whether that is the VM's secret in force, or its next one."""
    return known is not None and (is_in_force(known, sha256) or _same(known.next_sha256, sha256))


def _same(kept: str | None, sha256: str) -> bool:
    return kept is not None and hmac.compare_digest(kept.encode(), sha256.encode())


def _log_entry(before: Credential, known: Credential | None, sha256: str) -> tuple[int, str, str]:
    if not is_in_force(known, sha256):
        return logging.WARNING, "an outdated credential of %s was used: refused", _named(before.vm)
    if not is_in_force(before, sha256):
        return logging.INFO, "%s rotated its credential", _named(before.vm)
    return logging.INFO, "%s has shown a certificate: it is heard with one only from here on", _named(before.vm)


def _named(vm: Vm) -> str:
    return f"node {vm.node} (generation {vm.generation}) of cluster {vm.cluster_uid}"


def _is(vm: Vm) -> ColumnElement[bool]:
    table = AGENT_CREDENTIAL.c
    return (table.cluster_uid == vm.cluster_uid) & (table.node == vm.node) & (table.generation == vm.generation)


def _locked(transaction: Connection, vm: Vm) -> Credential | None:
    row = transaction.execute(select(AGENT_CREDENTIAL).where(_is(vm)).with_for_update()).one_or_none()
    return None if row is None else _credential(row)


def _kept(transaction: Connection, known: Credential | None, changed: Credential) -> Credential:
    if changed != known:
        transaction.execute(update(AGENT_CREDENTIAL).where(_is(changed.vm)).values(_values(changed)))
    return changed


def _values(credential: Credential) -> dict[str, object]:
    return {
        "cluster_uid": credential.vm.cluster_uid,
        "node": credential.vm.node,
        "generation": credential.vm.generation,
        **{name: getattr(credential, name) for name in _COLUMNS},
    }


def _credential(row: Row[Any]) -> Credential:
    vm = Vm(ClusterUid(row.cluster_uid), NodeName(row.node), row.generation)
    return Credential(vm=vm, **{name: getattr(row, name) for name in _COLUMNS})


_COLUMNS = (
    "credential_sha256",
    "intent_id",
    "enrolled_at",
    "next_sha256",
    "earlier_sha256",
    "rotated_at",
    "outdated_shown_at",
    "certified_at",
)
