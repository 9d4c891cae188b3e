"""Credentials of agents, by their hash. First use wins: a VM's enrolment token that leaks later enrols nobody else.

Keyed by (cluster, node, generation): the credential of a VM says nothing about its successor's.
"""

import hmac
import threading
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Engine, Row, insert, select, update
from sqlalchemy.exc import IntegrityError

from controlplane.tables import AGENT_CREDENTIAL
from events.clock import Clock, utc_now
from events.engine import reading, writing
from events.ids import ClusterUid, IntentId, NodeName


@dataclass(frozen=True, slots=True)
class Vm:
    """One VM: the instance of a node in one generation."""

    cluster_uid: ClusterUid
    node: NodeName
    generation: int


@dataclass(frozen=True, slots=True)
class Credential:
    """The SHA-256 (hex) of what the agent made on the VM; `intent_id` is the intent whose token enrolled it."""

    vm: Vm
    credential_sha256: str
    intent_id: IntentId
    enrolled_at: datetime


class CredentialRefused(Exception):
    """Somebody else was first, or the credential is wrong. What now: refuse; the VM is imitated or was made twice."""


class CredentialStore(Protocol):
    """Contract: tests/contract/test_credential_store.py."""

    def enroll(self, vm: Vm, *, credential_sha256: str, intent_id: IntentId) -> Credential:
        """Binds the VM to its first credential; the same one again is answered again. Raises CredentialRefused."""
        ...

    def rotate(self, vm: Vm, *, old_sha256: str, new_sha256: str) -> Credential:
        """Replaces the credential for whoever holds the old one. Idempotent. Raises CredentialRefused."""
        ...

    def verify(self, vm: Vm, credential_sha256: str) -> bool:
        """Is this the VM's credential?"""
        ...

    def get(self, vm: Vm) -> Credential | None:
        """What is enrolled for a VM."""
        ...


class MemoryCredentialStore:
    """Credentials of one process."""

    def __init__(self, clock: Clock = utc_now) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._credentials: dict[Vm, Credential] = {}

    def enroll(self, vm: Vm, *, credential_sha256: str, intent_id: IntentId) -> Credential:
        """See CredentialStore."""
        with self._lock:
            fresh = Credential(vm, credential_sha256, intent_id, self._clock())
            return _same_or_refused(self._credentials.setdefault(vm, fresh), credential_sha256)

    def rotate(self, vm: Vm, *, old_sha256: str, new_sha256: str) -> Credential:
        """See CredentialStore."""
        with self._lock:
            current = _rotatable(vm, self._credentials.get(vm), old_sha256, new_sha256)
            self._credentials[vm] = rotated = replace(current, credential_sha256=new_sha256)
            return rotated

    def verify(self, vm: Vm, credential_sha256: str) -> bool:
        """See CredentialStore."""
        return _matches(self.get(vm), credential_sha256)

    def get(self, vm: Vm) -> Credential | None:
        """See CredentialStore."""
        with self._lock:
            return self._credentials.get(vm)


class SqlCredentialStore:
    """Credentials as rows. All verbs may raise StoreUnavailable."""

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
        return _same_or_refused(known, credential_sha256)

    def rotate(self, vm: Vm, *, old_sha256: str, new_sha256: str) -> Credential:
        """See CredentialStore."""
        with writing(self._engine) as transaction:
            row = transaction.execute(select(AGENT_CREDENTIAL).where(_is(vm)).with_for_update()).one_or_none()
            current = _rotatable(vm, None if row is None else _credential(row), old_sha256, new_sha256)
            transaction.execute(update(AGENT_CREDENTIAL).where(_is(vm)).values(credential_sha256=new_sha256))
            return replace(current, credential_sha256=new_sha256)

    def verify(self, vm: Vm, credential_sha256: str) -> bool:
        """See CredentialStore."""
        return _matches(self.get(vm), credential_sha256)

    def get(self, vm: Vm) -> Credential | None:
        """See CredentialStore."""
        with reading(self._engine) as connection:
            row = connection.execute(select(AGENT_CREDENTIAL).where(_is(vm))).one_or_none()
            return None if row is None else _credential(row)


def _same_or_refused(known: Credential, credential_sha256: str) -> Credential:
    if not _matches(known, credential_sha256):
        raise CredentialRefused(
            f"{_named(known.vm)} enrolled another credential at {known.enrolled_at.isoformat(timespec='seconds')}: "
            "refused. If that was not its own agent, replace the node: its next generation gets a new token."
        )
    return known


def _rotatable(vm: Vm, known: Credential | None, old_sha256: str, new_sha256: str) -> Credential:
    # `new` already in place: the answer to the first try was lost.
    if known is None or not (_matches(known, old_sha256) or _matches(known, new_sha256)):
        raise CredentialRefused(f"{_named(vm)} showed a credential that is not the enrolled one: nothing was rotated")
    return known


def _matches(known: Credential | None, credential_sha256: str) -> bool:
    return known is not None and hmac.compare_digest(known.credential_sha256.encode(), credential_sha256.encode())


def _named(vm: Vm) -> str:
    return f"node {vm.node} (generation {vm.generation}) of cluster {vm.cluster_uid}"


def _is(vm: Vm) -> ColumnElement[bool]:
    table = AGENT_CREDENTIAL.c
    return (table.cluster_uid == vm.cluster_uid) & (table.node == vm.node) & (table.generation == vm.generation)


def _values(credential: Credential) -> dict[str, object]:
    return {
        "cluster_uid": credential.vm.cluster_uid,
        "node": credential.vm.node,
        "generation": credential.vm.generation,
        "credential_sha256": credential.credential_sha256,
        "intent_id": credential.intent_id,
        "enrolled_at": credential.enrolled_at,
    }


def _credential(row: Row[Any]) -> Credential:
    return Credential(
        vm=Vm(ClusterUid(row.cluster_uid), NodeName(row.node), row.generation),
        credential_sha256=row.credential_sha256,
        intent_id=IntentId(row.intent_id),
        enrolled_at=row.enrolled_at,
    )
