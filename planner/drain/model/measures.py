"""What a plan is measured by: every value beside the bound that no plan can beat."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measure:
    """`value` reached and the `bound` it is compared with, same unit."""

    value: float
    bound: float

    @property
    def ratio(self) -> float:
        """value / bound; 1.0 when both are 0 (nothing to do, nothing done)."""
        if self.bound > 0:
            return self.value / self.bound
        return 1.0 if self.value == 0 else float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """The five of the certificate plus leader changes (L4).

    `disk` is the largest fill (fraction) after the plan over active and new brokers against D*(1.05 L2) (L3);
    `leaders` the largest leader count against the optimum; `release_s` the sum over drained brokers against L6.
    """

    bytes: Measure
    makespan_s: Measure
    disk: Measure
    leaders: Measure
    leader_changes: Measure
    release_s: Measure
