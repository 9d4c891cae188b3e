"""The guard of every Terraform run: the plan may do what the intent names, all of it or less, and nothing
else.

Pure: it reads a list of planned changes and the run. Less is allowed only where it proves to be done already,
which is how a run that was interrupted is taken up again.
"""

from collections.abc import Iterable, Iterator

from providers.base import RunKind, TerraformRun
from providers.errors import Offence, UnsafeChange
from providers.tf.plan import Action, PlannedChange
from providers.tf.tagging import refusal as tagging_refusal

_MAY_CREATE = frozenset({RunKind.SURGE, RunKind.BIND})

_SIZES = frozenset({"size", "input.size_gib"})
"""What a disk's size is called by the providers of the clouds that can grow it (`terraform/README.md`)."""

_ONLY = {
    RunKind.GROW: frozenset[str](),
    RunKind.TAG: frozenset[str](),
    RunKind.BIND: frozenset({"attachment", "binding", "instance"}),
    RunKind.RELEASE: frozenset({"attachment", "binding", "instance"}),
}
"""A handover touches nothing but what hangs on a VM, and the VM where a cloud binds only with it."""


def check(changes: Iterable[PlannedChange], run: TerraformRun) -> None:
    """Raises `UnsafeChange` naming each offending target and why; returns when the plan may be applied."""
    changes = tuple(changes)
    offences = (*_intent(run), *_unnamed(changes, run), *_missing(changes, run), *_left_behind(changes, run))
    if offences:
        raise UnsafeChange(f"{run.kind} run {run.intent_id} of cluster {run.resources.cluster_name}", offences)


def check_import(changes: Iterable[PlannedChange], run: TerraformRun, addresses: frozenset[str]) -> None:
    """The guard of the step before a run: exactly `addresses` come into the state, as they are, and nothing changes.

    Raises `UnsafeChange`.
    """
    changes = tuple(changes)
    coming = {c.address for c in changes if c.imported}
    offences = [Offence(a, "it is to be imported, and the plan does not import it") for a in sorted(addresses - coming)]
    for change in changes:
        if change.imported and change.address not in addresses:
            offences.append(Offence(change.target, "the plan would import it, and nobody asked for that"))
        elif change.imported and change.action is not Action.NOOP:
            offences.append(Offence(change.target, f"its import would {change.action} it; an import changes nothing"))
        elif not change.imported and (reason := _refusal(change, run)) is not None:
            offences.append(Offence(change.target, reason))
    if offences:
        raise UnsafeChange(f"import before run {run.intent_id} of cluster {run.resources.cluster_name}", offences)


def _intent(run: TerraformRun) -> Iterator[Offence]:
    """A run that asks for what its kind may not do is refused before the plan is looked at."""
    for target in sorted(run.grows if run.kind is not RunKind.GROW else run.creates | run.deletes):
        yield Offence(target, f"a {run.kind} run may not {'grow' if run.kind is not RunKind.GROW else 'touch'} it")
    for target in sorted(run.tagging.targets if run.tagging and run.kind is not RunKind.TAG else ()):
        yield Offence(target, f"a {run.kind} run may not tag it")
    for target in sorted(run.deletes if run.kind in _MAY_CREATE else run.creates):
        verb = "delete" if run.kind in _MAY_CREATE else "create"
        yield Offence(target, f"a {run.kind} run may {verb} nothing")
    for target in sorted((run.creates | run.deletes) & run.forget):
        yield Offence(target, "it cannot be forgotten and changed in the same run")
    allowed = _ONLY.get(run.kind)
    for target in sorted(run.creates | run.deletes):
        if allowed is not None and target.partition("/")[0] not in allowed:
            yield Offence(target, f"a {run.kind} run changes only {', '.join(sorted(allowed))}")


def _unnamed(changes: tuple[PlannedChange, ...], run: TerraformRun) -> Iterator[Offence]:
    for change in changes:
        reason = _refusal(change, run)
        if reason is not None:
            yield Offence(change.target, reason)


def _refusal(change: PlannedChange, run: TerraformRun) -> str | None:
    if change.imported:
        return "the plan would import it; a run never imports"
    match change.action:
        case Action.NOOP | Action.READ:
            return None
        case Action.CREATE if change.target in run.creates:
            return None
        case Action.DELETE if change.target in run.deletes:
            return None
        case Action.CREATE:
            return "the plan would create it, and the run does not name it (a dead VM wanted back?)"
        case Action.DELETE:
            return "the plan would delete it, and the run does not name it"
        case Action.REPLACE:
            return "the plan would replace it; nothing is ever replaced in place, it is a new generation"
        case Action.UPDATE if change.target in run.grows:
            return _not_only_grown(change, run.grows[change.target])
        case Action.UPDATE if run.tagging is not None and change.target in run.tagging.targets:
            return tagging_refusal(change, run.tagging)
        case Action.UPDATE:
            return "the plan would update it in place; what exists is frozen"
        case Action.FORGET:
            return "the plan would forget it; only what the inventory proves gone is forgotten"


def _not_only_grown(change: PlannedChange, wanted_gib: int) -> str | None:
    """None where the update is the growth the run names and nothing beside it."""
    others = sorted(change.changed.keys() - _SIZES)
    if others:
        return f"the plan would change its {', '.join(others)} too; a grow run changes its size and nothing else"
    if len(change.changed) != 1:
        return "the plan would update it and does not say its size"
    ((before, after),) = change.changed.values()
    if after != wanted_gib or not isinstance(before, int) or before >= after:
        return f"the plan would change its size from {before} to {after} GiB; the run grows it to {wanted_gib} GiB"
    return None


def _missing(changes: tuple[PlannedChange, ...], run: TerraformRun) -> Iterator[Offence]:
    """Named but not planned: fine when it is done already, a contradiction of the rendered set otherwise."""
    seen = {change.target for change in changes}
    staying = {change.target for change in changes if change.action is Action.NOOP}
    for target in sorted(run.creates - seen):
        yield Offence(target, "the run is to create it, but it is neither rendered nor in the state")
    for target in sorted(run.grows.keys() - seen):
        yield Offence(target, "the run is to grow it, but it is not in the state")
    for target in sorted(run.deletes & staying):
        yield Offence(target, "the run is to delete it, but it is still rendered")


def _left_behind(changes: tuple[PlannedChange, ...], run: TerraformRun) -> Iterator[Offence]:
    if run.kind is RunKind.DESTROY:
        for change in changes:
            if change.action is Action.NOOP and change.target not in run.deletes:
                yield Offence(change.target, "a destroy run leaves nothing, and this is not named")
