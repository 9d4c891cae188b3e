"""Where Terraform's states are kept: local files (`statefile`), or a server over Terraform's `http` backend."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from providers.base import Place
from providers.tf.lock_files import ChosenProviders
from providers.tf.mirror import ProviderMirror
from providers.tf.run_folder import RunFolder


@dataclass(frozen=True, slots=True, order=True)
class StateKey:
    """Which state: that of one cluster in one place, as `<cloud>.<account>.<region>`."""

    cluster_uid: str
    place: str

    def __str__(self) -> str:
        return f"{self.cluster_uid}/{self.place}"


STATE_PATH = "state/terraform.tfstate"
"""A state that is a file, as runs see it: in a folder of theirs, or one that a link of theirs leads to."""

IN_A_FILE: Mapping[str, Mapping[str, object]] = {"local": {"path": STATE_PATH}}


@dataclass(frozen=True, slots=True)
class StateAccess:
    """How Terraform reaches one state during one run.

    `backend` is the same for all states of a kind, for `init` remembers it: which state it is say variables, that stand
    on no disk, or the `folder` that stands as `state` in the folder of the run.
    """

    backend: Mapping[str, Mapping[str, object]]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    folder: Path | None = None


class TerraformState(Protocol):
    """One state. Contract: tests/contract/test_terraform_states.py. All verbs may raise what the database does."""

    @property
    def folder(self) -> RunFolder:
        """Where its runs work on this machine."""

    @property
    def chosen(self) -> ChosenProviders:
        """Terraform's lock files, kept where the states are."""

    @property
    def mirror(self) -> ProviderMirror | None:
        """Where this machine's runs get providers from and nowhere else; None where a registry may be asked."""

    def locked(self, run_id: str, *, on_lost: Callable[[], object]) -> AbstractContextManager[StateAccess]:
        """Hold the state for one run. `on_lost` is called, from any thread, if it is taken from us meanwhile.

        Raises RunInProgress while another run, or what is left of one, is not proved to be over.
        """

    def read(self) -> bytes | None:
        """The newest version, None for a state that was never written. Raises StateUnreadable."""

    def write(self, body: bytes) -> None:
        """The next version, by us and not by Terraform; only while it is locked. Raises StateRefused, RunInProgress."""

    def repair(self) -> bool:
        """Makes the state readable from what is kept of it; True when it had to. Raises StateUnreadable."""

    def keep_copy(self) -> None:
        """Before a run writes: there is a whole version to go back to, whatever is killed."""

    def set_aside(self, name: str) -> bool:
        """Renames it, so that the next run begins with none; True when there was one. Nothing is deleted."""


class StateStorage(Protocol):
    """The states of an installation."""

    def of(self, key: StateKey) -> TerraformState: ...

    def keys(self) -> tuple[StateKey, ...]:
        """The states that were ever written, those set aside left out."""


def state_key(cluster_uid: str, place: Place) -> StateKey:
    """The key of the state of a cluster, or of a network, in a place."""
    return StateKey(cluster_uid, f"{place.cloud}.{place.account}.{place.region}")
