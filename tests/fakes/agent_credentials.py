"""Credentials of agents in memory."""

import threading
from collections.abc import Mapping

from controlplane.storage.agent_credentials import (
    Credential,
    Vm,
    after_showing,
    is_credential_of,
    rotation_of,
    same_or_refused,
)
from events.clock import Clock, utc_now
from events.ids import ClusterUid, IntentId


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
            return same_or_refused(self._credentials.setdefault(vm, fresh), credential_sha256)

    def rotate(self, vm: Vm, *, shown_sha256: str, next_sha256: str) -> Credential:
        """See CredentialStore."""
        with self._lock:
            rotated = rotation_of(vm, self._credentials.get(vm), shown_sha256, next_sha256)
            self._credentials[vm] = rotated
            return rotated

    def recognise(self, vm: Vm, sha256: str, *, is_certified: bool = False) -> Credential | None:
        """See CredentialStore."""
        with self._lock:
            known = self._credentials.get(vm)
            if known is None:
                return None
            self._credentials[vm] = after = after_showing(known, sha256, self._clock(), is_certified)
            return after if is_credential_of(after, sha256) else None

    def get(self, vm: Vm) -> Credential | None:
        """See CredentialStore."""
        with self._lock:
            return self._credentials.get(vm)

    def of_cluster(self, cluster_uid: ClusterUid) -> Mapping[Vm, Credential]:
        """See CredentialStore."""
        with self._lock:
            return {vm: known for vm, known in self._credentials.items() if vm.cluster_uid == cluster_uid}
