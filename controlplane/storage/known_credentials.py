"""Credentials of agents that were recognised a moment ago, in memory: a report comes every few seconds."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping

from controlplane.storage.agent_credentials import Credential, CredentialStore, Vm, is_in_force
from events.ids import ClusterUid, IntentId

KEPT_S = 30.0
"""Another process may have rotated a credential meanwhile: the one before counts here for so long at most. All of a
cluster are read in one query once the first of them is older (`load`), so it costs a query a cluster in that time."""
LOADED_EVERY_S = 5.0
"""Of one cluster: whoever is not known after that is asked about alone. Anybody may name a cluster."""


class KnownCredentials:
    """A `CredentialStore` in front of another one. Thread-safe.

    What is enrolled or rotated through it counts at once. `known` never waits for the database.
    """

    def __init__(self, store: CredentialStore, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock_s = store, clock_s
        self._lock = threading.Lock()
        self._kept: dict[Vm, tuple[Credential, float]] = {}
        self._loaded_s: dict[ClusterUid, float] = {}
        self._pruned_s = clock_s()

    def known(self, vm: Vm, sha256: str, *, is_certified: bool) -> Credential | None:
        """The VM's credential where that is the one in force, was so within `KEPT_S`, and nothing would change by its
        being shown. None says nothing about it: ask `recognise`.
        """
        kept = self._kept.get(vm)
        if kept is None or self._clock_s() - kept[1] > KEPT_S:
            return None
        credential = kept[0]
        is_same = is_in_force(credential, sha256) and (credential.certified_at is not None) is is_certified
        return credential if is_same else None

    def load(self, cluster_uid: ClusterUid) -> None:
        """Reads those of a cluster, in one query, so that `known` knows them; nothing where that was done within
        `LOADED_EVERY_S`. Raises StoreUnavailable."""
        now_s = self._clock_s()
        if now_s - self._loaded_s.get(cluster_uid, -LOADED_EVERY_S) < LOADED_EVERY_S:
            return
        self._keep(self._store.of_cluster(cluster_uid).values())
        self._loaded_s[cluster_uid] = now_s

    def enroll(self, vm: Vm, *, credential_sha256: str, intent_id: IntentId) -> Credential:
        """See CredentialStore, as all below."""
        self._forget(vm)
        return self._store.enroll(vm, credential_sha256=credential_sha256, intent_id=intent_id)

    def rotate(self, vm: Vm, *, shown_sha256: str, next_sha256: str) -> Credential:
        try:
            return self._store.rotate(vm, shown_sha256=shown_sha256, next_sha256=next_sha256)
        finally:
            self._forget(vm)

    def recognise(self, vm: Vm, sha256: str, *, is_certified: bool = False) -> Credential | None:
        credential = self._store.recognise(vm, sha256, is_certified=is_certified)
        if credential is not None:
            self._keep([credential])
        return credential

    def get(self, vm: Vm) -> Credential | None:
        return self._store.get(vm)

    def of_cluster(self, cluster_uid: ClusterUid) -> Mapping[Vm, Credential]:
        return self._store.of_cluster(cluster_uid)

    def _keep(self, credentials: Iterable[Credential]) -> None:
        now_s = self._clock_s()
        with self._lock:
            self._kept.update({credential.vm: (credential, now_s) for credential in credentials})
            if now_s - self._pruned_s > KEPT_S:
                self._kept = {vm: kept for vm, kept in self._kept.items() if now_s - kept[1] <= KEPT_S}
                self._loaded_s = {uid: at_s for uid, at_s in self._loaded_s.items() if now_s - at_s <= KEPT_S}
                self._pruned_s = now_s

    def _forget(self, vm: Vm) -> None:
        with self._lock:
            self._kept.pop(vm, None)
