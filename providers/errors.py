"""What a cloud or a Terraform run can answer. SDK exceptions stop at one file per cloud and become one of
these.

Each error says what, where and why in its text, and answers "what now?" twice: `retryable` for the converger
(the same call may succeed later without anybody doing anything) and `what_next` for a person.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from events.secrets import without_secrets


class ProviderError(Exception):
    """Base of everything this package raises on purpose. Its text may be a cloud's own: no secret of ours is in it."""

    retryable: ClassVar[bool] = False
    what_next: ClassVar[str] = "Read the message above; nothing was retried."

    def __str__(self) -> str:
        return without_secrets(super().__str__())


class AuthFailed(ProviderError):
    """The account's credentials were refused."""

    what_next = "Check the credentials of the account profile named above; what waits goes on once they are good."


class NotPermitted(ProviderError):
    """The cloud knows who asks, and that one may not: credentials are good and lack a permission, or the account has
    something switched off. Trying at once gets the same answer; somebody has to allow it, which no answer announces."""

    what_next = (
        "Give the credentials of the account profile what they lack (docs/clouds/policies has all of it); it is tried "
        "again by itself, now and then."
    )

    def __init__(self, message: str, permission: str = "") -> None:
        """`permission`: what the cloud asked for, in its own words, "" where it does not tell."""
        super().__init__(f"{permission} is not allowed: {message}" if permission else message)
        self.permission = permission


class QuotaExceeded(ProviderError):
    """The account may not have more of this. Only its owner can change that."""

    what_next = "Raise the quota or free resources in that account, then resume."


class NoCapacity(ProviderError):
    """The cloud has none left in that zone right now."""

    retryable = True
    what_next = "It is tried again later; another machine shape or zone may have room."


class RateLimited(ProviderError):
    """Too many calls. Nothing was done."""

    retryable = True
    what_next = "It is tried again after a pause."


class CloudUnavailable(ProviderError):
    """No answer, or an answer that says nothing. Whatever was asked about is unknown, not gone."""

    retryable = True
    what_next = "It is tried again; nothing is destroyed while the cloud does not answer."


class PlaceUnknown(ProviderError):
    """The spec names a cloud, account or region that does not exist."""

    what_next = "Correct `place` in the spec, or the file of the cloud if the message names that."


class SdkMissing(PlaceUnknown):
    """The SDK of the cloud is not installed on this machine."""

    what_next = "Install what the message names, and start the server anew."


class ResourceConflict(ProviderError):
    """The cloud holds something else under that name: another VM, a volume in use, a foreign address."""

    what_next = "Look at both objects named above; Kedge does not take over what it did not make."


class NotFound(ProviderError):
    """The cloud has nothing by an id that the settings or the spec name: a subnet, an image."""

    what_next = "Correct the id named above where it was written down."


class NotYetGone(ProviderError):
    """Something else still hangs on it, or its last change is not over."""

    retryable = True
    what_next = "It is tried again when the other object has let go."


class RunInProgress(ProviderError):
    """Another run of the same cluster and place is alive, or what it started is not proved dead yet."""

    retryable = True
    what_next = "It is tried again when the other run has ended."


class RunInterrupted(ProviderError):
    """The run was asked to stop or ran out of time. Its state is saved; the same run resumes it."""

    retryable = True
    what_next = "Start the same run again: it adopts what was made."


class StateUnreadable(ProviderError):
    """The Terraform state is no state file and no earlier copy of it is left."""

    what_next = "Restore the state file from a backup; Kedge does not guess what it held."


class NotImportable(ProviderError):
    """Something stands that the Terraform state does not know, and it can neither be imported nor made again."""

    what_next = "Put the state back from a copy, or remove by hand what is named above, then resume."


class UnsupportedChange(ProviderError):
    """This cloud cannot do it at all: a wish that should have been refused, or met otherwise."""

    what_next = "Put the old value back into the spec, or ask for new VMs: `kedge replace`."


class TerraformFailed(ProviderError):
    """Terraform ended with an error that no cloud recognised. `diagnostics` holds its own words."""

    retryable = True
    what_next = "It is tried again with a growing pause; if it repeats, read the diagnostics."

    def __init__(self, message: str, diagnostics: Sequence[str] = ()) -> None:
        super().__init__("\n".join([message, *diagnostics]))
        self.diagnostics = tuple(diagnostics)


class ProviderNotMirrored(TerraformFailed):
    """`init` failed, and only a mirror was asked for providers: it lacks one, or did not answer."""

    what_next = "Add to the mirror what is named above; it is tried again by itself, with a growing pause."


@dataclass(frozen=True, slots=True)
class Offence:
    """One planned change the run does not allow, and why."""

    target: str
    reason: str

    def __str__(self) -> str:
        return f"{self.target}: {self.reason}"


class UnsafeChange(ProviderError):
    """The plan holds more, less or other than the run names. Nothing was applied."""

    what_next = "Nothing was changed. Each change named above needs an intent of its own."

    def __init__(self, run: str, offences: Sequence[Offence]) -> None:
        super().__init__("\n".join([f"{run}: refused, nothing applied.", *map(str, offences)]))
        self.offences = tuple(offences)

    @property
    def targets(self) -> tuple[str, ...]:
        """`<resource>/<key>` (or Terraform's own address) of each offence."""
        return tuple(o.target for o in self.offences)
