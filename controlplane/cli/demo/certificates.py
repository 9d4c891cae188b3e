"""A drain plan's certificate on one line: each figure beside the bound no plan can beat."""

from collections.abc import Callable, Mapping
from typing import Any

from controlplane.cli.demo.report import ReportedPlan
from planner.quantities import human_bytes


def certificate_line(plan: ReportedPlan) -> str:
    """`drain plan by spark, 12 moves, value / bound: bytes 57.2 MiB / 57.2 MiB (1.000); makespan 0.8 s / ...`."""
    measured = plan.certificate
    parts = [
        f"bytes {_beside_bound(measured, 'bytes', _bytes)}",
        f"makespan {_beside_bound(measured, 'makespan_s', _seconds)}",
        f"fullest disk {_beside_bound(measured, 'disk', _percent)}",
        f"most leaders {_beside_bound(measured, 'leaders', _count)}",
        f"release {_beside_bound(measured, 'release_s', _seconds)}",
    ]
    return f"drain plan by {plan.engine}, {plan.moves} moves, value / bound: {'; '.join(parts)}"


def _beside_bound(measured: Mapping[str, Any], name: str, shown: Callable[[float | None], str]) -> str:
    measure = measured.get(name)
    if not isinstance(measure, Mapping):
        return "not measured"
    ratio = measure.get("ratio")
    return f"{shown(measure['value'])} / {shown(measure['bound'])} ({'-' if ratio is None else f'{ratio:.3f}'})"


def _bytes(amount: float | None) -> str:
    return "-" if amount is None else human_bytes(round(amount))


def _seconds(amount: float | None) -> str:
    return "-" if amount is None else f"{amount:.1f} s"


def _percent(amount: float | None) -> str:
    return "-" if amount is None else f"{amount:.1%}"


def _count(amount: float | None) -> str:
    return "-" if amount is None else f"{amount:.0f}"
