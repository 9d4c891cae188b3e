"""What the agent of a simulated VM is told when it asks, as the server answers it."""

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from agent.wire import Document
from controlplane.cluster.observed.agent_reports import last_report
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.documents import document_for
from controlplane.converger.questions.rolls.stale_stops import has_stale_stop, may_have_stale_stop

if TYPE_CHECKING:
    from tests.sim.world import World


@dataclass(slots=True)
class Answers:
    """Documents of one view, by epoch and instance: agents ask at every tick, and seldom is the answer another one."""

    view: ClusterView | None = None
    known: dict[tuple[int, str], Document | None] = field(default_factory=dict)

    def of(self, view: ClusterView, key: str, epoch: int) -> Document | None:
        """As `document_for` says."""
        if self.view is not view:
            self.view, self.known = view, {}
        if (epoch, key) not in self.known:
            self.known[epoch, key] = document_for(view, key, epoch=epoch)
        return self.known[epoch, key]


def document_told(world: "World", uid: str, key: str) -> Document | None:
    """Its document; the one it had where the present one is kept back."""
    view = world.view()
    now = world.clock()
    last = partial(last_report, world.latest, view.uid)
    if may_have_stale_stop(view, key) and has_stale_stop(view, key, last, now):
        return world.machines.vms[key].document
    known = _ANSWERS.get(world)
    if known is None:
        known = _ANSWERS[world] = Answers()
    return known.of(view, key, int(world.epoch))


_ANSWERS: WeakKeyDictionary["World", Answers] = WeakKeyDictionary()
