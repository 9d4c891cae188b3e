"""The decision on a permission to begin outside a window, or before earlier stages: pure, from what is in force."""

from controlplane.cluster.commands import CommandRefused, WaiveWindow
from controlplane.cluster.folds.spec_order import changes_in_hand
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.decision import CommandDecision, asked_by
from controlplane.commands.deciders.lookups import NOTHING, Lookups
from controlplane.fleet.images.choice import stage
from events import facts


def window_waived(view: ClusterView, command: WaiveWindow, _: Lookups = NOTHING) -> CommandDecision:
    """The fact to record. Raises CommandRefused where nothing could wait: a permission in stock is none."""
    if view.document is None or not (view.document.spec.rollout.windows or _may_wait_for_a_stage(view)):
        message = f"the spec of {view.name} has no windows, and no stage goes before it: nothing of it waits"
        raise CommandRefused("no-window", message, f"kedge describe {view.name} says what it waits for.")
    if view.requests.waived is not None and view.requests.waived[0] == view.generation:
        return CommandDecision(None, f"{view.name} may begin at once already: {view.requests.waived[1]}")
    if not _has_work_left(view):
        message = f"{view.name} has nothing left to do: there is nothing to let go"
        raise CommandRefused("nothing-left", message, "Give the permission once something waits.")
    left = f"what is left of generation {view.generation} of {view.name}"
    sentence = f"{left} begins at once, whatever windows and earlier stages say"
    return CommandDecision(facts.WindowWaived(view.generation, asked_by(command, command.reason)), sentence)


def _may_wait_for_a_stage(view: ClusterView) -> bool:
    return stage(view) > 0 and bool(changes_in_hand(view))


def _has_work_left(view: ClusterView) -> bool:
    asked = view.requests.rolling_restart or view.requests.to_replace or view.is_evacuating() or view.moves.rebalance
    return bool(asked) or view.roll.converged != view.generation or view.roll.recycling > 0
