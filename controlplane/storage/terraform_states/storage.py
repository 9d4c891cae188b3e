"""Terraform's states in the database, reached by Terraform over HTTP at the server that runs it.

A run holds its state by a row (`locks`) and works in a folder of this machine under a kernel lock (`RunFolder`); its
Terraform gets a pass of its own (`passes`) by environment. Kedge's side of `providers.tf.states`.
"""

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

from controlplane.storage.lease import LostLeadership
from controlplane.storage.terraform_states import lock, lock_files, lock_rows, run_credentials
from controlplane.storage.terraform_states.versions import SqlStateVersions
from events.errors import StoreUnavailable
from events.ids import Epoch
from providers.errors import RunInProgress, RunInterrupted
from providers.tf.mirror import ProviderMirror
from providers.tf.run_folder import RunFolder, end_run, processes_of
from providers.tf.states import StateAccess, StateKey

_log = logging.getLogger(__name__)

PATHS = "/terraform/v1/states"
"""Where the API serves states; a state is at `<paths>/<cluster uid>/<place>`."""

ENDING_S = 30.0
"""A server that leads no more ends its Terraform within this: a look each second, 15 s from SIGINT to SIGKILL, and
as much again. The lease of a hold is the lease of its server and this: when it is over, so is the run."""

_RENEW_EVERY_S = 5.0
_RETRIES = {"retry_max": 4, "retry_wait_min": 1, "retry_wait_max": 5}
"""Of Terraform's `http` backend, in seconds: a database that is away for a moment costs no run."""


@dataclass(frozen=True, slots=True)
class Leading:
    """This server's side of the lease. `epoch` raises LostLeadership; `leads` asks nobody."""

    owner: str
    epoch: Callable[[], Epoch]
    leads: Callable[[Epoch], bool]


@dataclass(frozen=True, slots=True)
class ServedStates:
    """A `StateStorage` that the server at `url` (with no slash at its end) serves. `root` holds the folders of runs."""

    locks: lock_rows.SqlStateLocks
    versions: SqlStateVersions
    root: Path
    url: str
    chosen: lock_files.SqlChosenProviders
    leading: Leading
    lease_s: float
    mirror: ProviderMirror | None = None
    passes: run_credentials.RunPasses = field(default_factory=run_credentials.RunPasses)
    process: lock.ServerProcess = field(default_factory=lock.this_process)
    renew_every_s: float = _RENEW_EVERY_S
    left_of: Callable[[str], tuple[int, ...]] = processes_of
    """Pids on this machine of the run with an id."""

    @property
    def hosts(self) -> frozenset[str]:
        """The one `Host` value that runs come with."""
        return frozenset({urlsplit(self.url).netloc})

    def of(self, key: StateKey) -> "ServedState":
        return ServedState(self, key)

    def keys(self) -> tuple[StateKey, ...]:
        return self.versions.keys()


class ServedState:
    """One `TerraformState` of them. For one thread, but for the hold that is kept by a thread of its own."""

    def __init__(self, states: ServedStates, key: StateKey) -> None:
        self._states = states
        self._key = key
        self._hold_id = ""

    @property
    def folder(self) -> RunFolder:
        return RunFolder(self._states.root.absolute() / self._key.cluster_uid / self._key.place)

    @property
    def chosen(self) -> lock_files.SqlChosenProviders:
        return self._states.chosen

    @property
    def mirror(self) -> ProviderMirror | None:
        return self._states.mirror

    @contextmanager
    def locked(self, run_id: str, *, on_lost: Callable[[], object]) -> Iterator[StateAccess]:
        """See TerraformState. Raises RunInterrupted when this server leads no more, or the database is away."""
        hold_id = secrets.token_hex(8)
        issued = self._states.passes.issue(self._key, hold_id)  # first: a hold without one counts as over
        ended = threading.Event()
        try:
            epoch = self._take(run_id, hold_id)
            renewal = threading.Thread(
                target=self._keep, args=(hold_id, epoch, ended, on_lost), name="terraform-hold", daemon=True
            )
            renewal.start()
            self._hold_id = hold_id
            try:
                with self.folder.locked(run_id):
                    yield self._access(issued)
            finally:
                self._hold_id = ""
                ended.set()
                renewal.join()
                self._release(run_id, hold_id)
        finally:
            self._states.passes.revoke(issued)

    def read(self) -> bytes | None:
        return self._states.versions.read(self._key)

    def write(self, body: bytes) -> None:
        try:
            self._states.versions.put(self._key, body, hold_id=self._hold_id, lock_id=None)
        except lock_rows.StateNotHeld as lost:
            raise RunInProgress(str(lost)) from lost

    def repair(self) -> bool:
        """See TerraformState. A write is whole or not at all here, so there is only something to look at."""
        self.read()
        return False

    def keep_copy(self) -> None:
        """See TerraformState. Every write is a version of its own already."""

    def set_aside(self, name: str) -> bool:
        return self._states.versions.set_aside(self._key, name)

    def _take(self, run_id: str, hold_id: str) -> Epoch:
        states = self._states
        try:
            epoch = states.leading.epoch()
            dead = self._proved_dead()
            claim = lock.Claim(hold_id, run_id, epoch, states.leading.owner, states.process, states.lease_s)
            states.locks.take(self._key, claim, proved_dead=dead)
        except lock_rows.StateHeld as held:
            raise RunInProgress(f"state {self._key}: {held}") from held
        except (LostLeadership, StoreUnavailable) as lost:
            raise RunInterrupted(f"state {self._key} was not taken: {lost}") from lost
        return epoch

    def _proved_dead(self) -> str | None:
        """The hold whose server, or whose run within this very server, is proved to be over; its processes are ended.

        Raises RunInProgress when they do not end.
        """
        held = self._states.locks.holder(self._key)
        if held is None:
            return None
        claim, here = held.claim, self._states.process
        if claim.process == here:
            is_over = not self._states.passes.in_hand(claim.hold_id)
        else:
            is_over = claim.process.is_proved_dead(here)
        if not is_over:
            return None
        _log.warning("state %s: run %s of %s is proved dead, its hold is broken", self._key, claim.run_id, claim.owner)
        end_run(claim.run_id)
        return claim.hold_id

    def _keep(self, hold_id: str, epoch: Epoch, ended: threading.Event, on_lost: Callable[[], object]) -> None:
        """Renews the hold while this server leads. Calls `on_lost` once when it is not ours, or may not be for long."""
        renewed_at_s = time.monotonic()
        while not ended.wait(self._states.renew_every_s):
            try:
                is_ours = self._states.leading.leads(epoch) and self._states.locks.renew(self._key, hold_id, epoch)
            except Exception as error:  # noqa: BLE001 - whatever it was, it ends neither this thread nor the hold unseen
                _log.warning("the hold of state %s was not renewed: %s", self._key, error)
                is_ours = time.monotonic() - renewed_at_s < self._states.lease_s - ENDING_S
            else:
                renewed_at_s = time.monotonic()
            if not is_ours:
                _log.warning("state %s is lost to this server: its run is ended", self._key)
                on_lost()
                return

    def _release(self, run_id: str, hold_id: str) -> None:
        left = self._states.left_of(run_id)
        if left:
            _log.warning("state %s stays held: processes %s of run %s are alive", self._key, left, run_id)
            return
        try:
            self._states.locks.release(self._key, hold_id)
        except StoreUnavailable as error:
            _log.warning("state %s could not be given back, its lease ends by itself: %s", self._key, error)

    def _access(self, issued: run_credentials.RunPass) -> StateAccess:
        path = f"{PATHS}/{quote(self._key.cluster_uid, safe='')}/{quote(self._key.place, safe='')}"
        address = f"{self._states.url}{path}"
        addresses = {f"TF_HTTP_{what}": address for what in ("ADDRESS", "LOCK_ADDRESS", "UNLOCK_ADDRESS")}
        credentials = {"TF_HTTP_USERNAME": issued.user, "TF_HTTP_PASSWORD": issued.password.get_secret_value()}
        return StateAccess({"http": _RETRIES}, {**addresses, **credentials})
