"""The guard: a plan may do what the run names, all of it or what is left of it, and nothing else."""

from collections.abc import Set
from dataclasses import replace

import pytest

from providers.base import RunKind, TerraformRun
from providers.errors import UnsafeChange
from providers.tf.guard import check
from providers.tf.plan import Action, PlannedChange
from tests.fakes.resources import resources, run


def change(target: str, action: Action, *, imported: bool = False) -> PlannedChange:
    return PlannedChange(address=f"module.kedge.x.{target}", target=target, action=action, imported=imported)


def refused(
    kind: RunKind,
    *changes: PlannedChange,
    creates: Set[str] = frozenset(),
    deletes: Set[str] = frozenset(),
    forget: Set[str] = frozenset(),
) -> UnsafeChange:
    wanted = run(kind, resources(), creates=set(creates), deletes=set(deletes), forget=set(forget))
    with pytest.raises(UnsafeChange) as caught:
        check(changes, wanted)
    return caught.value


def test_what_is_named_passes() -> None:
    check(
        [change("instance/b-0.g1", Action.CREATE), change("instance/b-1.g1", Action.NOOP)],
        run(RunKind.SURGE, resources(), creates={"instance/b-0.g1"}),
    )
    check([change("instance/b-0.g1", Action.DELETE)], run(RunKind.RETIRE, resources(), deletes={"instance/b-0.g1"}))


def test_a_create_that_is_in_the_state_already_is_done() -> None:
    check([change("instance/b-0.g1", Action.NOOP)], run(RunKind.SURGE, resources(), creates={"instance/b-0.g1"}))


def test_a_delete_that_is_out_of_the_state_already_is_done() -> None:
    check([], run(RunKind.RETIRE, resources(), deletes={"instance/b-0.g1"}))


def test_a_read_is_no_change() -> None:
    check([change("data.x", Action.READ)], run(RunKind.SURGE, resources()))


def test_a_create_neither_planned_nor_in_the_state_is_refused() -> None:
    error = refused(RunKind.SURGE, creates={"instance/b-0.g1"})
    assert "neither rendered nor in the state" in str(error)


def test_a_delete_of_what_is_still_rendered_is_refused() -> None:
    error = refused(RunKind.RETIRE, change("instance/b-0.g1", Action.NOOP), deletes={"instance/b-0.g1"})
    assert "still rendered" in str(error)


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (Action.CREATE, "would create it"),
        (Action.DELETE, "would delete it"),
        (Action.UPDATE, "frozen"),
        (Action.REPLACE, "new generation"),
        (Action.FORGET, "inventory proves"),
    ],
)
def test_any_other_change_is_refused_with_its_reason(action: Action, reason: str) -> None:
    error = refused(RunKind.SURGE, change("instance/b-9.g1", action))
    assert error.targets == ("instance/b-9.g1",)
    assert reason in str(error)
    assert not error.retryable


@pytest.mark.parametrize("action", [Action.REPLACE, Action.UPDATE, Action.DELETE])
def test_being_named_for_creation_allows_a_creation_only(action: Action) -> None:
    assert refused(RunKind.SURGE, change("instance/b-0.g1", action), creates={"instance/b-0.g1"})


def test_an_import_is_refused_even_when_nothing_else_changes() -> None:
    assert "import" in str(refused(RunKind.SURGE, change("instance/b-0.g1", Action.NOOP, imported=True)))


def test_every_offence_is_named_at_once() -> None:
    error = refused(
        RunKind.SURGE, change("instance/b-1.g1", Action.CREATE), change("volume/b-1.data.v1", Action.DELETE)
    )
    assert error.targets == ("instance/b-1.g1", "volume/b-1.data.v1")


@pytest.mark.parametrize("kind", [RunKind.RELEASE, RunKind.RETIRE, RunKind.DESTROY])
def test_runs_that_take_away_may_create_nothing(kind: RunKind) -> None:
    error = refused(kind, change("binding/c-0.g1", Action.CREATE), creates={"binding/c-0.g1"})
    assert "may create nothing" in str(error)


@pytest.mark.parametrize("kind", [RunKind.SURGE, RunKind.BIND])
def test_runs_that_add_may_delete_nothing(kind: RunKind) -> None:
    error = refused(kind, change("binding/c-0.g1", Action.DELETE), deletes={"binding/c-0.g1"})
    assert "may delete nothing" in str(error)


@pytest.mark.parametrize("target", ["volume/c-0.meta.v1", "address/c-0"])
def test_a_handover_never_deletes_a_disk_or_an_address(target: str) -> None:
    assert refused(RunKind.RELEASE, change(target, Action.DELETE), deletes={target}).targets == (target,)


@pytest.mark.parametrize("kind", [RunKind.BIND, RunKind.RELEASE])
@pytest.mark.parametrize("word", ["attachment", "binding", "instance"])
def test_a_handover_touches_a_vm_and_what_hangs_on_it(kind: RunKind, word: str) -> None:
    target = f"{word}/b-0.g1"
    bind = kind is RunKind.BIND
    wanted = run(kind, resources(), creates={target}) if bind else run(kind, resources(), deletes={target})
    check([change(target, Action.CREATE if bind else Action.DELETE)], wanted)


def test_a_destroy_reads_what_it_likes() -> None:
    changes = [change("instance/b-0.g1", Action.DELETE), change("data.image", Action.READ)]
    check(changes, run(RunKind.DESTROY, resources(), deletes={"instance/b-0.g1"}))


def test_a_destroy_leaves_nothing_unnamed() -> None:
    error = refused(
        RunKind.DESTROY,
        change("instance/b-0.g1", Action.DELETE),
        change("instance/b-1.g1", Action.NOOP),
        deletes={"instance/b-0.g1"},
    )
    assert error.targets == ("instance/b-1.g1",)


def test_nothing_is_forgotten_and_changed_in_one_run() -> None:
    error = refused(
        RunKind.SURGE,
        change("instance/b-0.g1", Action.CREATE),
        creates={"instance/b-0.g1"},
        forget={"instance/b-0.g1"},
    )
    assert "forgotten" in str(error)


# --- growing ------------------------------------------------------------------------------------------------------


def growing(**changed: tuple[object, object]) -> PlannedChange:
    return PlannedChange("module.kedge.x.volume", "volume/b-0.data.v1", Action.UPDATE, changed=changed)


def grow(gib: int = 20) -> TerraformRun:
    return replace(run(RunKind.GROW, resources()), grows={"volume/b-0.data.v1": gib})


def test_a_grow_run_changes_the_size_it_names() -> None:
    check([growing(size=(10, 20)), change("instance/b-0.g1", Action.NOOP)], grow())
    check([growing(**{"input.size_gib": (10, 20)})], grow())
    check([change("volume/b-0.data.v1", Action.NOOP)], grow())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ([growing(size=(10, 30))], "from 10 to 30 GiB; the run grows it to 20 GiB"),
        ([growing(size=(30, 20))], "from 30 to 20 GiB"),
        ([growing(size=(20, 20))], "from 20 to 20 GiB"),
        ([growing(size=(None, 20))], "from None to 20 GiB"),
        ([growing(size=(10, 20), type=("gp3", "io2"))], "would change its type too"),
        ([growing()], "does not say its size"),
        ([growing(size=(10, 20)), change("volume/b-1.data.v1", Action.UPDATE)], "what exists is frozen"),
        ([growing(size=(10, 20)), change("instance/b-0.g2", Action.CREATE)], "does not name it"),
        ([change("volume/b-0.data.v1", Action.REPLACE)], "nothing is ever replaced"),
        ([], "not in the state"),
    ],
)
def test_whatever_else_a_grow_run_would_change_is_refused(changes: list[PlannedChange], reason: str) -> None:
    with pytest.raises(UnsafeChange, match=reason):
        check(changes, grow())


def test_no_other_run_grows_anything_and_a_grow_run_makes_and_deletes_nothing() -> None:
    surge = replace(run(RunKind.SURGE, resources()), grows={"volume/b-0.data.v1": 20})
    with pytest.raises(UnsafeChange, match="a surge run may not grow it"):
        check([growing(size=(10, 20))], surge)
    other = frozenset({"volume/b-1.data.v1"})
    for asked in (replace(grow(), creates=other), replace(grow(), deletes=other)):
        with pytest.raises(UnsafeChange, match="a grow run may"):
            check([growing(size=(10, 20)), change("volume/b-1.data.v1", Action.NOOP)], asked)
