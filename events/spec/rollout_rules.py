"""Rules about rolling, listeners and the clients' way in."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from zoneinfo import ZoneInfo

from events.spec import problems as p
from events.spec.clients import Bootstrap
from events.spec.model import Pool
from events.spec.positions import Positions
from events.spec.problems import Path, Problem
from events.spec.rollout import RolloutPolicy, RolloutWindow
from events.spec.security import Listener

CONTROLLER_LISTENER = "CONTROLLER"
MEMBERS_ALONE = (2181, 2888, 3888, 9093)
"""Ports of ZooKeeper and of controllers: clients of one cluster would be let in to the quorum of another there."""


def rollout_problems(rollout: RolloutPolicy, pools: Mapping[int, Pool], where: Positions) -> Iterator[Problem]:
    """Everything wrong with the rollout policy, against the pools too."""
    yield from window_problems(rollout.windows, ("spec", "rollout", "windows"), where)
    together = rollout.max_parallel_restarts
    if together > max(1, rollout.max_unavailable):
        message = (
            f"{together} brokers are to be restarted at the same time, and {max(1, rollout.max_unavailable)} may be "
            "away by `maxUnavailable`"
        )
        fix = f"Use `maxUnavailable: {together}`, or `maxParallelRestarts: {max(1, rollout.max_unavailable)}`."
        yield where.problem(p.PARALLEL_RESTARTS, ("spec", "rollout", "maxParallelRestarts"), message, fix)
    if rollout.strategy == "migrate":
        if rollout.surge == 0:
            message = "`migrate` with `surge: 0` cannot start: a fresh broker has to join before an old one leaves"
            fix = "Use `surge: 1` or more."
            yield where.problem(p.STUCK, ("spec", "rollout", "surge"), message, fix)
        return
    if rollout.max_unavailable == 0:
        message = (
            "`reattach` with `maxUnavailable: 0` cannot start: a broker is down while its disk moves to the next VM"
        )
        fix = "Use `maxUnavailable: 1`, or `strategy: migrate`."
        yield where.problem(p.STUCK, ("spec", "rollout", "maxUnavailable"), message, fix)
    for index, pool in pools.items():
        if pool.has_members:
            message = (
                f"pool `{pool.name}` has ZooKeeper servers on the VMs of its brokers: with `reattach` one would leave "
                "the ensemble before its next VM serves, with `migrate` after it"
            )
            fix = "Use `strategy: migrate`, or give the servers a pool of their own, apply, and change it after that."
            yield where.problem(p.MEMBERS, ("spec", "rollout", "strategy"), message, fix)
        if pool.is_broker and pool.disk.kind == "ephemeral":
            message = f"pool `{pool.name}` has an ephemeral disk, which `reattach` cannot move to the next VM"
            fix = "Use `strategy: migrate`, or `kind: persistent`."
            yield where.problem(p.REATTACH_DISK, ("spec", "pools", index, "disk", "kind"), message, fix)


SHORTEST_WINDOW_S = 900
"""A replacement that begins in a shorter one would end outside more often than not."""


def window_problems(windows: Sequence[RolloutWindow], path: Path, where: Positions) -> Iterator[Problem]:
    """Everything wrong with the windows that stand at this path."""
    for index, window in enumerate(windows):
        at = (*path, index)
        if not _is_known_zone(window.zone):
            message = f"no time zone is called `{window.zone}`"
            fix = "Use a name of the IANA database, as in `Europe/Zurich`, or `UTC`."
            yield where.problem(p.WINDOW, (*at, "zone"), message, fix)
        if window.duration_s < SHORTEST_WINDOW_S:
            message = f"the window is open for {window.duration_s} s; nothing much can begin in that"
            fix = f"Let it stay open for {SHORTEST_WINDOW_S // 60}m or longer."
            yield where.problem(p.WINDOW, (*at, "duration"), message, fix)
        if len(set(window.days)) < len(window.days):
            yield where.problem(p.REPEATED, (*at, "days"), "a day is listed twice", "Name each day once.")


@cache
def _is_known_zone(name: str) -> bool:
    """Whether this machine's time-zone data has it."""
    try:
        ZoneInfo(name)
    except (LookupError, ValueError, OSError):  # ZoneInfoNotFoundError is a KeyError; `Europe` is a folder
        return False
    return True


def access_problems(listeners: tuple[Listener, ...], bootstrap: Bootstrap, where: Positions) -> Iterator[Problem]:
    """Everything wrong with how clients reach the brokers."""
    for index, listener in enumerate(listeners):
        if listener.name == CONTROLLER_LISTENER:
            message = f"the name `{CONTROLLER_LISTENER}` belongs to the quorum's own listener"
            fix = "Use `PLAINTEXT`."
            yield where.problem(p.LISTENERS, ("spec", "listeners", index, "name"), message, fix)
        if listener.port in MEMBERS_ALONE:
            message = f"port {listener.port} is one of controllers or of ZooKeeper: firewalls let in members alone"
            fix = "Use 9092, or another port that is not one of " + ", ".join(map(str, MEMBERS_ALONE)) + "."
            yield where.problem(p.LISTENERS, ("spec", "listeners", index, "port"), message, fix)
    if bootstrap.dns is None and not bootstrap.list:
        message = "`bootstrap` has neither a dns name nor a list, so no client can find the cluster"
        fix = "Write `list: true`, or give a `dns` name."
        yield where.problem(p.NO_BOOTSTRAP, ("spec", "bootstrap", "list"), message, fix)
