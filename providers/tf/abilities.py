"""What a provider may add to `CloudProvider` for Terraform's sake; each is asked for, none is required."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from providers.base import Listing, Place, Resources
from providers.call_budget import TokenBucket
from providers.errors import ProviderError


@runtime_checkable
class GivesEnvironment(Protocol):
    """Variables Terraform and its plugins need: credentials of an account, where to find our verbs."""

    def terraform_environment(self, place: Place) -> Mapping[str, str]: ...


@runtime_checkable
class RecognisesErrors(Protocol):
    """Knows the cloud's own words in Terraform's diagnostics: quota, capacity, credentials, rate."""

    def recognise(self, diagnostics: Sequence[str]) -> ProviderError | None: ...


@runtime_checkable
class RepeatsCreates(Protocol):
    """Creating the same thing for the same intent again finishes or adopts it; there is never a second one."""

    def creates_are_repeatable(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Import:
    """One thing that exists, for Terraform: its address in the rendered configuration, and the id to import it by."""

    address: str
    id: str


@runtime_checkable
class ImportsResources(Protocol):
    """What exists can be taken into a state that does not know it."""

    def imports(self, target: str, resources: Resources, listing: Listing) -> tuple[Import, ...] | None:
        """How a target the listing shows, as `instance/b-0.g1`, is imported. Pure.

        Empty where creating it again is harmless: it then makes nothing, or finds what is there. None where it can
        neither be imported nor made again: a person has to act.
        """


@runtime_checkable
class GrowsVolumes(Protocol):
    """Terraform's update of a volume records its new size and does no more: the cloud does the rest itself."""

    def grow_volumes(self, resources: Resources, sizes: Mapping[str, int]) -> None:
        """Gives the volumes, `volume/<key>` -> GiB, their new sizes. Idempotent; never makes one smaller."""


@runtime_checkable
class SharesCalls(Protocol):
    """Its calls and those of its Terraform runs come out of one bucket per account and region."""

    def calls(self, place: Place) -> TokenBucket: ...
