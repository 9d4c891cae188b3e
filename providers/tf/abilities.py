"""What a provider may add to `CloudProvider` for Terraform's sake; each is asked for, none is required."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from providers.base import Place
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
