"""States as Terraform writes them, and storages of states on a database, for tests."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from controlplane.storage.terraform_states.encryption import StateSeal
from controlplane.storage.terraform_states.lock import Claim, ServerProcess, this_process
from controlplane.storage.terraform_states.lock_files import SqlChosenProviders
from controlplane.storage.terraform_states.lock_rows import SqlStateLocks
from controlplane.storage.terraform_states.storage import Leading, ServedStates
from controlplane.storage.terraform_states.versions import SqlStateVersions
from events.ids import Epoch
from providers.tf.lock_files import ChosenInFiles
from providers.tf.states import StateKey

KEY = StateKey("c0ffee", "local.default.local-1")
OTHER_KEY = StateKey("decaf", "local.default.local-1")
SEAL = StateSeal(b"the server key of a home of tests")
ELSEWHERE = ServerProcess("another-boot/pid:[1]", 4242, 7)
"""A server of another machine: nothing is known of it here."""


def body(serial: int, *, lineage: str = "line-1", instances: tuple[str, ...] = ()) -> bytes:
    """A state of format 4 with these instance keys."""
    resource: dict[str, Any] = {
        "module": "module.kedge",
        "mode": "managed",
        "type": "terraform_data",
        "name": "instance",
        "instances": [{"index_key": key} for key in instances],
    }
    state = {"version": 4, "serial": serial, "lineage": lineage, "resources": [resource] if instances else []}
    return json.dumps(state).encode()


def lead(epoch: int = 1, owner: str = "") -> Leading:
    """A server that leads by that epoch, for as long as the test lasts."""
    return Leading(owner or f"server-{epoch}", lambda: Epoch(epoch), lambda asked: asked == epoch)


def claim(hold_id: str, *, epoch: int = 1, process: ServerProcess | None = None, lease_s: float = 60.0) -> Claim:
    owner = f"server-{epoch}"
    return Claim(hold_id, f"run-of-{hold_id}", Epoch(epoch), owner, process or this_process(), lease_s)


@dataclass
class Served:
    """What makes storages on one database: each `server` is a server with a lead and a home of its own."""

    engine: Engine
    root: Path
    keep: int = 50
    url: str = "http://127.0.0.1:8428"

    def server(
        self, *, epoch: int = 1, home: str = "home", process: ServerProcess | None = None, **changes: Any
    ) -> ServedStates:
        now: dict[str, Callable[..., Any]] = {"now": changes.pop("now")} if "now" in changes else {}
        return ServedStates(
            locks=SqlStateLocks(self.engine, **now),
            versions=SqlStateVersions(self.engine, seal=SEAL, keep=self.keep, **now),
            root=self.root / home,
            url=self.url,
            chosen=SqlChosenProviders(self.engine, ChosenInFiles(self.root / home / "providers")),
            leading=changes.pop("leading", lead(epoch)),
            lease_s=changes.pop("lease_s", 60.0),
            process=process or this_process(),
            **changes,
        )
