"""The plan's own account of itself: every figure beside the bound that no plan can beat, and what had to be assumed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from planner.drain.model.measures import Measure, Measures

BandwidthSource = Literal["measured", "catalogue", "assumed"]

MEASURES = tuple(f.name for f in fields(Measures))


@dataclass(frozen=True, slots=True)
class Certificate:
    """`measures`: value and bound of each, by the independent replay (planner.drain.replay).

    `replicas` counts the copies; `source_transfers` the copies read from a broker that leads neither before nor after.
    `binds`: which limit makes the makespan no shorter, in words; "" where nobody said.
    """

    measures: Measures
    replicas: int
    source_transfers: int
    bandwidth_source: BandwidthSource
    assumptions: tuple[str, ...]
    binds: str = ""

    def document(self) -> dict[str, Any]:
        """As JSON, with the ratio value / bound of each measure; what is not finite is null."""
        measured = {name: _measure_document(getattr(self.measures, name)) for name in MEASURES}
        return {
            **measured,
            "replicas": self.replicas,
            "source_transfers": self.source_transfers,
            "bandwidth_source": self.bandwidth_source,
            "assumptions": list(self.assumptions),
            **({"binds": self.binds} if self.binds else {}),
        }


def certificate_from(document: Mapping[str, Any]) -> Certificate:
    """The inverse of `Certificate.document`; raises KeyError or TypeError."""
    return Certificate(
        measures=Measures(**{name: _measure(document[name]) for name in MEASURES}),
        replicas=int(document["replicas"]),
        source_transfers=int(document["source_transfers"]),
        bandwidth_source=document["bandwidth_source"],
        assumptions=tuple(str(line) for line in document["assumptions"]),
        binds=str(document.get("binds", "")),
    )


def rounded(measures: Measures) -> Measures:
    """Plain numbers to six places, so that a certificate is the same text on every machine."""
    return Measures(**{name: _rounded(getattr(measures, name)) for name in MEASURES})


def _rounded(measure: Measure) -> Measure:
    return Measure(_plain(float(measure.value)), _plain(float(measure.bound)))


def _plain(number: float) -> float:
    return int(number) if math.isfinite(number) and number == int(number) else round(number, 6)


def _measure_document(measure: Measure) -> dict[str, float | None]:
    figures = {"value": measure.value, "bound": measure.bound, "ratio": measure.ratio}
    return {k: round(v, 6) if math.isfinite(v) else None for k, v in figures.items()}


def _measure(document: Mapping[str, Any]) -> Measure:
    return Measure(*(math.inf if document[k] is None else document[k] for k in ("value", "bound")))
