"""The part of the view that an open Terraform run is."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class IntentView:
    """An open Terraform intent and how often its run has failed."""

    id: str
    kind: str
    keys: tuple[str, ...]
    requested_at: datetime
    volumes: tuple[str, ...] = ()
    with_vm: bool = False
    """A release that deletes the VM, too."""
    substituted: bool = False
    """Since its last failure, VMs of it became another machine."""
    failures: int = 0
    """Since a person last let it go on."""
    tries: int = 0
    """Runs that failed, ever: each try is a job of its own, also after a person forgave the failures."""
    refusals: int = 0
    """Runs in a row that the cloud did not permit: no failures, as no number of them makes trying again senseless."""
    failed_at: datetime | None = None
    error: str = ""
    retryable: bool = True
