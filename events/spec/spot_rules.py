"""Rules about pre-emptible VMs: who may run on them, and what may be lost when a cloud takes them all back."""

from collections.abc import Iterator

from events.quantities import counted
from events.spec import problems as p
from events.spec.model import KafkaSection, Pool
from events.spec.positions import Positions
from events.spec.problems import Path, Problem
from events.spec.settings import DEFAULT_RF, as_integer, shape_defaults

_POOLS: Path = ("spec", "pools")


def spot_problems(index: int, pool: Pool, where: Positions) -> Iterator[Problem]:
    """What refuses pre-emptible VMs for one pool, which stands at `index`. What its cloud offers is asked later."""
    if not pool.spot or not pool.is_quorum:
        return
    kind = "controllers" if pool.is_controller else "ZooKeeper servers"
    message = (
        f"pool `{pool.name}` has {kind} on pre-emptible VMs; the cloud may take most of a quorum back at one time, and "
        "then the whole cluster stands still"
    )
    yield where.problem(p.SPOT, (*_POOLS, index, "spot"), message, "Leave `spot` away here; brokers may have it.")


def spot_risks(kafka: KafkaSection, pools: tuple[Pool, ...], where: Positions) -> Iterator[Problem]:
    """Warnings: where every replica of a partition may be on pre-emptible VMs. For clusters whose brokers are ours."""
    spot = [index for index, pool in enumerate(pools) if pool.spot and pool.is_broker]
    if not spot:
        return
    path = (*_POOLS, spot[0], "spot")
    zones = sorted({zone for index in spot for zone in pools[index].zones_in_use})
    factor = as_integer({**shape_defaults(kafka, pools), **kafka.config}[DEFAULT_RF])
    if factor is None or factor < 1:
        return  # reported as unreadable
    if factor == 1:
        message = f"`{DEFAULT_RF}` is 1 and there are pre-emptible brokers: what only one of them has goes when it does"
        yield where.problem(p.SPOT_RISK, path, message, f"Raise `{DEFAULT_RF}`, or leave `spot` away.")
    elif len(zones) >= factor:
        message = (
            f"{counted(len(zones), 'zone')} ({', '.join(zones)}) have pre-emptible brokers and `{DEFAULT_RF}` is "
            f"{factor}: all replicas of a partition may be on such, and the cloud may take them back at one time"
        )
        fix = f"Keep `spot` to pools in {counted(factor - 1, 'zone')}, or leave it if the data may be away, or lost."
        yield where.problem(p.SPOT_RISK, path, message, fix)
