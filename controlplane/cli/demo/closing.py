"""The end of the demo: a table for people, and the same as JSON."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from controlplane.cli.demo.report import Replaced, ReportedPlan, ReportedRebalance, RollReport
from controlplane.kafka.audit import Audit
from controlplane.kafka.min_isr import MinIsrReport
from controlplane.runtime.quantities import human_seconds
from controlplane.runtime.styled_text import styled
from planner.quantities import human_bytes


@dataclass(frozen=True, slots=True)
class DemoFigures:
    """Everything the demo found out."""

    audit: Audit
    min_isr: MinIsrReport
    replaced: Sequence[Replaced]
    plans: Sequence[ReportedPlan]
    rebalances: Sequence[ReportedRebalance]
    roll: RollReport
    wall_s: float

    @property
    def is_good(self) -> bool:
        """Nothing lost, nothing twice, never under min ISR."""
        return self.audit.is_clean and self.audit.failed == 0 and self.min_isr.under_min_isr_s == 0


def as_json(figures: DemoFigures) -> dict[str, Any]:
    """The report: keys are fixed, seconds and bytes are plain numbers."""
    return {
        "records": {
            "acknowledged": figures.audit.acknowledged,
            "read": figures.audit.read,
            "lost": figures.audit.lost,
            "duplicated": figures.audit.duplicated,
            "failed": figures.audit.failed,
        },
        "under_min_isr_s": round(figures.min_isr.under_min_isr_s, 1),
        "unobserved_s": round(figures.min_isr.unobserved_s, 1),
        "observer_samples": figures.min_isr.samples,
        "replaced": [
            {
                "node": r.node,
                "service": r.service,
                "old_broker": r.old_id,
                "new_broker": r.new_id,
                "bytes": r.bytes,
                "seconds": {"surge": r.surge_s, "drain": r.drain_s, "retire": r.retire_s},
            }
            for r in figures.replaced
        ],
        "plans": [
            {"engine": p.engine, "moves": p.moves, "bytes": p.bytes, "certificate": dict(p.certificate)}
            for p in figures.plans
        ],
        "rebalances": [asdict(one) for one in figures.rebalances],
        "roll_wall_s": round(figures.roll.wall_s, 1),
        "overhead_ratio": round(figures.roll.overhead_ratio, 3),
        "wall_s": round(figures.wall_s, 1),
    }


def show(console: Console, figures: DemoFigures) -> None:
    """The table at the end."""
    table = Table(title="replaced VMs", title_justify="left", title_style="bold")
    for column, right in (
        ("node", False),
        ("service", False),
        ("id", False),
        ("moved", True),
        ("surge", True),
        ("drain", True),
        ("retire", True),
    ):
        table.add_column(column, justify="right" if right else "left")
    for r in figures.replaced:
        ids = f"{r.old_id} -> {r.new_id}" if r.old_id != r.new_id else f"{r.new_id} (kept)"
        seconds = [human_seconds(s) if s else "-" for s in (r.surge_s, r.drain_s, r.retire_s)]
        table.add_row(r.node, r.service, ids, human_bytes(r.bytes) if r.bytes else "-", *seconds)
    console.print(table)
    audit, good = figures.audit, "green" if figures.is_good else "bold red"
    console.print(
        styled(
            f"records: {audit.acknowledged} acknowledged, {audit.read} read back, "
            f"{audit.lost} lost, {audit.duplicated} duplicated",
            good,
        )
    )
    samples = f"{figures.min_isr.samples} samples"
    console.print(styled(f"under min ISR: {figures.min_isr.under_min_isr_s:.1f} s ({samples})", good))
    engines = ", ".join(sorted({p.engine for p in figures.plans}))
    console.print(styled(f"drain plans: {len(figures.plans)}, computed by {engines}"))
    for one in figures.rebalances:
        known = one.rates or "log sizes alone, no write rate was known"
        console.print(styled(f"rebalance: {one.moves} moves, computed by {one.engine} with {known}"))
    console.print(
        styled(
            f"the roll took {human_seconds(round(figures.roll.wall_s))}, {figures.roll.overhead_ratio:.0%} of it "
            f"without a boot, a copy, a stop or an asked-for wait; the demo took {human_seconds(round(figures.wall_s))}"
        )
    )
