"""Where the spec in force comes from, and what follows from its having been declared. Part of
`controlplane.cluster.view`."""

from dataclasses import dataclass
from datetime import datetime

from controlplane.cluster.views.source import SpecSource
from controlplane.cluster.views.spec_order import SpecOrderView
from providers.given_machines import GivenMachine


@dataclass(frozen=True, slots=True)
class DeclarationView:
    """The last declaration of a cluster's spec; the spec itself is the view's `document`."""

    declared_at: datetime | None = None
    source: SpecSource | None = None
    """Who may change the spec, None where nobody but the API ever declared it."""
    spec_order: SpecOrderView | None = None
    """What the order of the fleet asks about its spec, None before the first one was reached."""
    machines: tuple[GivenMachine, ...] = ()
    """Machine types its specs ever gave figures of, as they were last given: a VM outlives its spec's words."""
