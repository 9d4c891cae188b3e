"""An audit of one state: has anybody changed by hand what Terraform made? It reads, and changes nothing anywhere."""

from dataclasses import dataclass

from providers.base import Place, Resources
from providers.errors import ProviderError
from providers.networks import NetworkRun


class AuditSuperseded(ProviderError):
    """A run changed the state while the audit read the cloud. What now: retry later."""

    retryable = True
    what_next = "The audit is made again later; it had changed nothing."


@dataclass(frozen=True, slots=True)
class CloudAudit:
    """What is to be looked at: all that stands of one cluster in one place."""

    id: str
    resources: Resources

    @property
    def of(self) -> str:
        """Whose state it is: uid of the cluster."""
        return self.resources.cluster_uid

    @property
    def place(self) -> Place:
        return self.resources.place


@dataclass(frozen=True, slots=True)
class NetworkAudit:
    """What is to be looked at: one network, as the run that would make it says it. Nothing is run."""

    id: str
    network: NetworkRun

    @property
    def of(self) -> str:
        """Whose state it is: key of the network."""
        return self.network.key

    @property
    def place(self) -> Place:
        return self.network.place


Audit = CloudAudit | NetworkAudit


@dataclass(frozen=True, slots=True)
class Drift:
    """One value that is not as it was recorded, in words. Secrets are never in it.

    `address` is Terraform's, `target` is `<resource>/<key>`; `attribute` is a path as `labels.team`, empty where the
    whole thing is gone.
    """

    address: str
    target: str
    attribute: str
    recorded: str
    found: str

    @property
    def is_gone(self) -> bool:
        return not self.attribute

    @property
    def sentence(self) -> str:
        """As people read it."""
        named = self.target if self.target == self.address else f"{self.target} ({self.address})"
        if self.is_gone:
            return f"{named} is gone"
        return f"{named}: {self.attribute} was recorded as {self.recorded}, there is {self.found}"


@dataclass(frozen=True, slots=True)
class AuditFound:
    """What came of it: `resources` things of the state were looked at."""

    drifts: tuple[Drift, ...]
    resources: int
