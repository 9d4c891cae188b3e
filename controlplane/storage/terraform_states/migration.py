"""Moving Terraform's states between files and the database: asked for, while nobody leads, checked before it counts.

Each state is written to the other storage and read back, byte by byte, before the database says that the states are
there; only then the old ones are renamed. Whatever is killed on the way, the states of record are whole.
"""

import logging
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from controlplane.storage.home_binding import HTTP, HomeRefused
from controlplane.storage.lease_holder import CONVERGE
from events.errors import StoreUnavailable
from providers.errors import ProviderError, StateUnreadable
from providers.tf.run_folder import RunFolder
from providers.tf.state_body import serial_of
from providers.tf.states import StateKey, StateStorage, TerraformState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from controlplane.storage.lease import Lease, LeaseStore
    from controlplane.storage.terraform_states.storage import ServedStates

_log = logging.getLogger(__name__)


class MoveRefused(HomeRefused):
    """The states stay where they are on record. What now: mend what the message names, and ask again."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What was moved, and the name that the old ones got."""

    keys: tuple[StateKey, ...]
    aside: str


def move_states(
    files: StateStorage,
    served: "ServedStates",
    *,
    to: str,
    leases: "LeaseStore",
    term_s: float,
    now: datetime,
    record: Callable[[str], None],
) -> Moved:
    """Moves all states to where `to` says (`http`: into the database). Leads while it does, so that nobody else may.

    Raises MoveRefused (nothing changed), StoreUnavailable.
    """
    source, target = (files, served) if to == HTTP else (served, files)
    name = f"moved-{now:%Y%m%dT%H%M%S}"
    with _leading(leases, served.leading.owner, term_s) as keep:
        under = replace(served, leading=replace(served.leading, epoch=lambda: keep().epoch, leads=lambda _: True))
        source, target = (files, under) if to == HTTP else (under, files)
        keys = source.keys()
        for key in keys:
            keep()
            _copy(source, target, under, key, name)
        record(to)
        for key in keys:
            source.of(key).set_aside(name)
    _log.warning("%d of Terraform's states were moved to `%s`; the old ones are kept as %s", len(keys), to, name)
    return Moved(keys, name)


def _copy(source: StateStorage, target: StateStorage, served: "ServedStates", key: StateKey, name: str) -> None:
    held = served.of(key)
    old = held if source is served else source.of(key)
    new = held if target is served else target.of(key)
    try:
        # Its lock is both: the row, and the kernel's lock on the folder that files have, too.
        with held.locked(f"move-{key.cluster_uid}", on_lost=lambda: None):
            old.repair()
            body = old.read()
            if body is None:
                return
            _refuse_unwritten(held.folder, body)
            _make_room(new, body, f"before-{name}")
            new.write(body)
            if new.read() != body:
                raise MoveRefused(f"state {key} came back otherwise than it was written; nothing was changed")
    except ProviderError as error:
        raise MoveRefused(f"state {key} cannot be moved: {error}. {error.what_next} Nothing was changed") from error


def _refuse_unwritten(folder: RunFolder, body: bytes) -> None:
    newer = [path for path in folder.errored_states() if serial_of(path.read_bytes()) > serial_of(body)]
    if newer:
        raise MoveRefused(
            f"{newer[-1]} is newer than the state of record: a run could not write it. Start once more without moving, "
            "until the next run of that cluster has pushed it. Nothing was changed"
        )


def _make_room(target: TerraformState, body: bytes, name: str) -> None:
    """What lies there already is not of record: an earlier attempt left it. Renamed, never deleted."""
    try:
        there = target.read()
    except StateUnreadable:
        there = b""
    if there is not None and there != body:
        target.set_aside(name)


@contextmanager
def _leading(leases: "LeaseStore", owner: str, term_s: float) -> "Iterator[Callable[[], Lease]]":
    lease = leases.acquire(CONVERGE, owner, term_s=term_s)
    if lease is None:
        raise MoveRefused("a server leads: Terraform's states are moved only while none does. Stop all servers first")
    left_s = (lease.acts_after - leases.time()).total_seconds()
    held = [lease]

    def keep() -> "Lease":
        renewed = leases.renew(held[0])
        if renewed is None:
            raise MoveRefused("another server has taken the lease meanwhile; nothing was changed")
        held[0] = renewed
        return renewed

    try:
        if left_s > 0:
            raise MoveRefused(
                f"the last server gave no lease back and may act for {left_s:.0f} s more: make sure that none runs, "
                "and ask again when that time is over"
            )
        yield keep
    finally:
        try:
            leases.release(held[0])
        except StoreUnavailable as error:
            _log.warning("the lease could not be given back, its term ends by itself: %s", error)
