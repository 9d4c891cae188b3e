"""Which storage of Terraform's states a server works with: what is set must be what the database has on record."""

import hashlib
import hmac
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretBytes
from sqlalchemy import Engine

from controlplane.cluster.places import places_of
from controlplane.cluster.view import ClusterView
from controlplane.storage.home_binding import HTTP, LOCAL, HomeRefused, homes_of, leave, record_state
from controlplane.storage.lease import LeaseStore
from controlplane.storage.terraform_states import encryption, lock_files, lock_rows, migration, versions
from controlplane.storage.terraform_states.storage import ENDING_S, Leading, ServedStates
from events.clock import utc_now
from events.errors import StoreUnavailable
from providers.base import CloudProvider
from providers.errors import PlaceUnknown, RunInterrupted, StateUnreadable
from providers.tf.mirror import ProviderMirror
from providers.tf.state_file import LocalStates
from providers.tf.states import StateStorage

_log = logging.getLogger(__name__)

MOVE_OPTION = "--move-terraform-state"


@dataclass(frozen=True, slots=True)
class Storage:
    """Both storages of one server, and the one that is set."""

    files: LocalStates
    served: ServedStates
    chosen: str

    @property
    def states(self) -> StateStorage:
        """Those in force."""
        return self.served if self.chosen == HTTP else self.files


def storage_of(
    engine: Engine,
    *,
    chosen: str,
    server_key: SecretBytes,
    keep: int,
    root: Path,
    url: str,
    leading: Leading,
    lease_term_s: float,
    mirror: ProviderMirror | None,
) -> Storage:
    """`server_key` is the home's, which seals rows; `url` is where this server listens, `root` the folder of states
    and runs, `keep` how many versions stay, `mirror` where runs get providers from, None where a registry is asked."""
    served = ServedStates(
        locks=lock_rows.SqlStateLocks(engine),
        versions=versions.SqlStateVersions(engine, seal=encryption.StateSeal(server_key.get_secret_value()), keep=keep),
        root=root,
        url=url,
        chosen=lock_files.SqlChosenProviders(engine, LocalStates(root).chosen),
        leading=leading,
        lease_s=lease_term_s + ENDING_S,
        mirror=mirror,
    )
    return Storage(LocalStates(root, mirror), served, chosen)


def first_state(storage: Storage) -> str:
    """What a database that nobody claimed yet is to record: states that are there already are never left behind.

    Files are of a home that had another database, rows of a backup. Where there are both, what is set. Raises
    StoreUnavailable.
    """
    files, rows = bool(storage.files.keys()), bool(storage.served.keys())
    if files == rows:
        return storage.chosen
    return LOCAL if files else HTTP


def settle(engine: Engine, storage: Storage, *, recorded: str, move: bool, leases: LeaseStore, term_s: float) -> None:
    """Refuses a server that is set otherwise than the database says; with `move` it makes that so.

    Raises HomeRefused, StoreUnavailable.
    """
    if recorded == storage.chosen:
        if move:
            _log.warning("nothing to move: Terraform's states are in `%s` already", recorded)
        return
    if not move:
        raise HomeRefused(
            f"Terraform's states of this database are in `{recorded}`, and terraform.state says `{storage.chosen}`: a "
            f"server would begin with none. Set it back to `{recorded}`, or stop all servers, take a backup, and "
            f"start once with {MOVE_OPTION}: it moves every state and says so"
        )
    if storage.chosen == LOCAL and len(homes_of(engine)) > 1:
        raise HomeRefused(
            "servers of several homes share this database: as files, Terraform's states would be one home's alone. "
            "Keep terraform.state = `http`"
        )
    if storage.chosen == LOCAL:
        storage.served.chosen.write_files()
    migration.move_states(
        storage.files,
        storage.served,
        to=storage.chosen,
        leases=leases,
        term_s=term_s,
        now=utc_now(),
        record=lambda state: record_state(engine, state),
    )
    if storage.chosen == LOCAL:
        storage.served.chosen.forget()


def still_in_force(engine: Engine, storage: Storage) -> None:
    """To be asked before each run. Raises StateUnreadable when the states were moved since this server started."""
    try:
        homes = homes_of(engine)
    except StoreUnavailable as error:
        raise RunInterrupted(f"where Terraform's states are is unknown: {error}") from error
    if homes and homes[0].state != storage.chosen:
        raise StateUnreadable(
            f"Terraform's states were moved to `{homes[0].state}` while this server was running on `{storage.chosen}`: "
            "set terraform.state to that and start it again"
        )


def refuse_beside_local(engine: Engine, home_id: str, views: Iterable[ClusterView]) -> None:
    """Takes a home's claim back when clusters live in the `local` cloud: their VMs are another home's processes.

    Raises HomeRefused.
    """
    local = sorted(v.name for v in views if not v.deleted and any(p.cloud == "local" for p in places_of(v)))
    if local:
        leave(engine, home_id)
        raise HomeRefused(
            f"{', '.join(local)} live in the `local` cloud, whose VMs are processes and files of the home they were "
            "made in: another home could not see them. Delete those clusters first, or use that home alone"
        )


@dataclass(frozen=True, slots=True)
class SharedClouds:
    """Clouds of a server that may share its database with other homes: then the `local` one is refused."""

    clouds: Callable[[str], CloudProvider]
    homes: Callable[[], int]

    def __call__(self, cloud: str) -> CloudProvider:
        """The provider of a cloud. Raises PlaceUnknown, StoreUnavailable."""
        if cloud == "local" and (several := self.homes()) > 1:
            raise PlaceUnknown(
                f"the `local` cloud is processes and files of one home, and {several} homes share this database: "
                "whoever leads next could not see its VMs. Use another cloud, or one home"
            )
        return self.clouds(cloud)


def keys_print(server_key: bytes, ca_sha256: str) -> str:
    """Stands for what a home's files must have in common with others', and tells nothing of it."""
    return hmac.new(server_key, f"kedge home keys {ca_sha256}".encode(), hashlib.sha256).hexdigest()
