"""Live progress of a roll: a row per instance in flight and the tick's sentence; off a terminal a plain line per step.

with RollProgress(console, animated=True, monotonic=time.monotonic) as progress:
    progress.show(detail)      # as often as one likes
    progress.say("declared")   # a line that stays
"""

import re
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from controlplane.api.schemas.clusters import ClusterDetailOut
from controlplane.api.schemas.conditions import DrainOut, RebalanceOut
from controlplane.api.schemas.instances import InstanceOut
from controlplane.cli.tables import generation_words, phase_text, status_text
from controlplane.runtime.quantities import human_seconds
from controlplane.runtime.styled_text import styled
from events.quantities import counted
from planner.engines import planned_by
from planner.quantities import human_bytes

COMING = ("requested", "launched", "joined")
LEAVING = {
    "broker": ("draining", "lingering", "fencing", "fenced", "retiring"),
    "controller": ("fencing", "fenced", "released", "retiring"),
    "zookeeper": ("fencing", "fenced", "released", "retiring"),
}
AT_REST = ("joined", "retired")
BAR_WIDTH = 24

_NUMBER = re.compile(r"\d[\d.,]*")


class RollProgress:
    """Shows clusters as they change. Where lines cannot be redrawn it prints what is new, and nothing twice."""

    def __init__(self, console: Console, *, animated: bool, monotonic: Callable[[], float]) -> None:
        self._console = console
        self._monotonic = monotonic
        self._began = monotonic()
        self._latest: dict[str, ClusterDetailOut] = {}
        self._total: dict[str, int] = {}
        self._live = Live(console=console, auto_refresh=False, transient=True) if animated else None

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def show(self, detail: ClusterDetailOut) -> None:
        """A fresh look at one cluster."""
        before = self._latest.get(detail.name)
        self._latest[detail.name] = detail
        left = len(detail.pending)
        self._total[detail.name] = max(self._total.get(detail.name, 0), left) if left else 0
        for line in news(before, detail):
            if self._live is None or not line.startswith(_SENTENCE):
                self.say(f"{detail.name}: {line.removeprefix(_SENTENCE)}")
        if self._live:
            self._live.update(Group(*(self._picture(d) for d in self._latest.values())), refresh=True)

    def say(self, text: str, style: str = "") -> None:
        """A line that stays, with the time since the beginning."""
        stamp = styled(f"[{human_seconds(round(self._monotonic() - self._began)):>11}] ", "dim")
        self._console.print(stamp.append_text(styled(text, style)))

    def _picture(self, detail: ClusterDetailOut) -> RenderableType:
        elapsed = human_seconds(round(self._monotonic() - self._began))
        head = styled(detail.name, "bold").append_text(styled(f"  generation {generation_words(detail)}  "))
        head.append_text(status_text(detail.status)).append_text(styled(f"  {elapsed}", "dim"))
        rows: list[RenderableType] = [head, styled(f"  {detail.sentence}")]
        total = self._total[detail.name]
        if total:
            done = total - len(detail.pending)
            rows.append(_bar("nodes", done, total, f"{done} of {counted(total, 'step')} done"))
        if detail.drain is not None:
            rows.append(_bar("drain", *drain_steps(detail.drain), batch_words(detail.drain)))
        moving = in_flight(detail.instances)
        if moving:
            rows.append(_rows(moving))
        return Group(*rows)


_SENTENCE = "\0"
"""Marks a line of news that the live picture shows anyway."""


def news(before: ClusterDetailOut | None, now: ClusterDetailOut) -> Iterator[str]:
    """What a plain log should say: phases that changed, batches, and a sentence that differs in more than numbers."""
    if before is None or before.generation != now.generation:
        yield f"generation {now.generation} is declared, {now.converged_generation} is converged"
    yield from _phase_news({} if before is None else {i.key: i for i in before.instances}, now, is_first=before is None)
    if now.drain is not None and (before is None or before.drain is None or before.drain.batch != now.drain.batch):
        yield drain_words(now.drain)
    spread = now.rebalance
    if spread is not None and (before is None or before.rebalance is None or spread.batch != before.rebalance.batch):
        yield rebalance_words(spread)
    if now.sentence and (before is None or _words(before.sentence) != _words(now.sentence)):
        yield f"{_SENTENCE}{now.sentence}"


def in_flight(instances: Sequence[InstanceOut]) -> list[InstanceOut]:
    """The instances something is being done to, by node."""
    moving = [i for i in instances if i.phase not in AT_REST or (i.lost and i.phase != "retired")]
    return sorted(moving, key=lambda instance: (instance.node, instance.generation))


def track(instance: InstanceOut) -> Text:
    """The phases of an instance's way in or out; the one it is in stands in brackets."""
    way = COMING if instance.phase in COMING else LEAVING.get(instance.service, ())
    if instance.phase not in way:
        return phase_text(instance)
    here = way.index(instance.phase)
    text = Text()
    for index, phase in enumerate(way):
        text.append(" > " if index else "", style="dim")
        if index == here:
            text.append(f"[{phase}]", style="bold cyan")
        else:
            text.append(phase, style="green" if index < here else "dim")
    return text


def drain_steps(drain: DrainOut) -> tuple[int, int]:
    """Batches done and all batches. `batch` counts from 0 and is -1 before the first."""
    return max(0, drain.batch), max(1, drain.batches)


def drain_words(drain: DrainOut) -> str:
    """`drain of broker 1000 (brokers-a-0.g1): batch 2 of 5, 36 moves, 12.0 MiB, planned by spark`."""
    who = f"{'broker' if len(drain.outgoing) == 1 else 'brokers'} {', '.join(map(str, drain.outgoing))}"
    return f"drain of {who} ({', '.join(drain.keys) or 'external'}): {batch_words(drain)}"


def rebalance_words(rebalance: RebalanceOut) -> str:
    """`rebalance (scale-up): batch 2 of 7, 36 moves, 12.0 MiB, 9.0 MiB left, imbalance 100 % -> 4 %, ...`."""
    onto = f" onto {', '.join(map(str, rebalance.onto))}" if rebalance.onto else ""
    name = f"rebalance ({rebalance.cause}){onto}"
    if not rebalance.engine:
        why = f", {rebalance.failed}" if rebalance.failed else ""
        return f"{name}: being planned, {rebalance.reason}{why}"
    at = _at_batch(rebalance.batch, rebalance.batches)
    left = human_bytes(rebalance.bytes_left)
    size = f"{counted(rebalance.moves, 'move')}, {human_bytes(rebalance.bytes)}, {left} left"
    change = f"imbalance {rebalance.imbalance_before:.0f} % -> {rebalance.imbalance_after:.0f} %"
    ends = f"; no further batch begins: {rebalance.cancelled}" if rebalance.cancelled else ""
    return f"{name}: {at}, {size}, {change}, {planned_by(rebalance.engine)}{ends}"


def batch_words(drain: DrainOut) -> str:
    """`batch 2 of 5, 36 moves, 12.0 MiB, planned by spark`."""
    if not drain.engine:
        return f"being planned, round {drain.round}"
    at = _at_batch(drain.batch, drain.batches)
    again = f", round {drain.round}" if drain.round > 1 else ""
    return f"{at}, {counted(drain.moves, 'move')}, {human_bytes(drain.bytes)}, {planned_by(drain.engine)}{again}"


def _at_batch(batch: int, batches: int) -> str:
    """`batch 2 of 5`; `5 batches` before the first. `batch` counts from 0 and is -1 then."""
    return f"batch {batch + 1} of {batches}" if batch >= 0 else f"{batches} batch{'es' * (batches != 1)}"


def _phase_news(before: dict[str, InstanceOut], now: ClusterDetailOut, *, is_first: bool) -> Iterator[str]:
    for instance in sorted(now.instances, key=lambda i: (i.node, i.generation)):
        was = before.get(instance.key)
        who = f"{instance.key} ({instance.service} {instance.service_id})"
        if (was is None and not (is_first and instance.phase in AT_REST)) or (was and was.phase != instance.phase):
            replaces = f", replaces {instance.replaces}" if was is None and instance.replaces else ""
            yield f"{who}: {instance.phase}{replaces}"
        if instance.lost and not (was and was.lost):
            yield f"{who}: its VM is gone"
    left = {instance.key for instance in now.instances}
    yield from (f"{key}: retired" for key in sorted(before) if key not in left and before[key].phase != "retired")


def _rows(instances: Sequence[InstanceOut]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for instance in instances:
        lost = styled("VM is gone", "red") if instance.lost else styled("")
        table.add_row(f"  {instance.key}", f"{instance.service} {instance.service_id}", track(instance), lost)
    return table


def _bar(title: str, done: int, total: int, words: str) -> Table:
    line = Table.grid(padding=(0, 1, 0, 0))
    line.add_row(f"  {title}", ProgressBar(total=total, completed=done, width=BAR_WIDTH), styled(words))
    return line


def _words(sentence: str) -> str:
    """A sentence without its numbers: `3 s left` and `2 s left` are no news to each other."""
    return _NUMBER.sub("#", sentence)
