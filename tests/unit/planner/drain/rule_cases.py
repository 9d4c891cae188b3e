"""Plans of small drains, forged by hand, and what the judge says of them."""

from dataclasses import replace
from typing import Any

from planner.drain.check import check
from planner.drain.plan import DrainPlan
from planner.drain.request import DrainRequest
from planner.drain.solve import solve
from planner.observed import KafkaSnapshot, LogDirSeen, LogDirsSeen
from tests.unit.planner.drain.drain_cases import MIB, partition, request, roll, snapshot

Case = tuple[DrainPlan, KafkaSnapshot, DrainRequest]


def planned(case: tuple[KafkaSnapshot, DrainRequest] | None = None) -> Case:
    """Of the roll, unless another case is given: moves of orders-11, orders-10 and so on."""
    seen, asked = case or roll()
    plan = solve(asked)
    assert isinstance(plan, DrainPlan)
    assert check(plan, seen, asked) == ()
    return plan, seen, asked


def wrong(plan: DrainPlan, seen: KafkaSnapshot, asked: DrainRequest) -> list[str]:
    return [f"{v.kind} {v.subject}: {v.message}" for v in check(plan, seen, asked)]


def of_kind(kind: str, plan: DrainPlan, seen: KafkaSnapshot, asked: DrainRequest) -> list[str]:
    return [f"{v.subject}: {v.message}" for v in check(plan, seen, asked) if v.kind == kind]


def with_move(plan: DrainPlan, **changes: Any) -> DrainPlan:
    """The first move, of orders-11, changed."""
    return replace(plan, moves=(replace(plan.moves[0], **changes), *plan.moves[1:]))


def with_partition(seen: KafkaSnapshot, number: int, **changes: Any) -> KafkaSnapshot:
    rows = [replace(p, **changes) if p.name.partition == number else p for p in seen.partitions]
    return replace(seen, partitions=tuple(rows))


def jbod(used_b: int = 100 * MIB) -> Case:
    """Logs of 500 and 200 MiB leave broker 1000 for 1001 with /a and /b of 1000 MiB each: 500 to /b, 200 to /a."""
    rows = [partition("t", n, (1000,), size=size) for n, size in enumerate((500 * MIB, 200 * MIB))]
    seen = snapshot({1000: "a", 1001: "a"}, rows)
    dirs = (
        LogDirSeen("/a", 600 * MIB, 1000 * MIB, 400 * MIB),
        LogDirSeen("/b", used_b, 1000 * MIB, 1000 * MIB - used_b),
    )
    told = LogDirsSeen(0, 600 * MIB + used_b, 2000 * MIB, 1400 * MIB - used_b, dirs=dirs)
    seen = replace(seen, log_dirs={**seen.log_dirs, 1001: told})
    return planned((seen, request(seen, outgoing=(1000,), targets=(1001,))))
