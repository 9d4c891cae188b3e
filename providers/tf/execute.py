"""One guarded Terraform run from intent to outcome: repair, plan, guard, apply exactly that plan."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from providers import catalog_file, errors, networks, preflight, quota
from providers.base import CloudProvider, Resources, RunKind, Tagging, TerraformRun
from providers.tf.abilities import GrowsVolumes, Import, RepeatsCreates, SharesCalls
from providers.tf.adoption import adopting_run
from providers.tf.diagnosis import diagnosed
from providers.tf.guard import check, check_import
from providers.tf.imports import import_step
from providers.tf.initialised import Initialised
from providers.tf.plan import Action, StateResource, planned_changes, resources_before
from providers.tf.progress import OnProgress, ProgressKind, RunProgress
from providers.tf.rendered_set import targets_of
from providers.tf.runner import TerraformRunner
from providers.tf.state_body import instance_ids_in, serial_of, targets_in
from providers.tf.states import StateAccess, StateStorage, TerraformState, state_key
from providers.tf.surroundings import environment_of
from providers.tf.tagging import VARIABLE as RETAGS, retags
from providers.tf.unfinished import in_question, settle
from providers.tf.workspace import Workspace, open_workspace, rendered

_TIMEOUT_S = 900.0

_ACTING = (Action.CREATE, Action.DELETE, Action.UPDATE)

CALLS_PER_RESOURCE, CALLS_OF_A_RUN = 3, 4
"""About what a run asks of a cloud: a plan of 10 resources on AWS was seen to read 34 times (docs/clouds.md)."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run did. `changed` and `done_before` together are everything the run names.

    `done_before` was created (and is in the state) or deleted by an earlier, interrupted run of the same
    intent.
    """

    changed: tuple[str, ...]
    done_before: tuple[str, ...]
    seconds: float
    imported: tuple[str, ...] = ()
    """Terraform's addresses of what the state did not know before."""
    instances: Mapping[str, str] = field(default_factory=dict)
    """Instance key -> the cloud's id of the VM the state has."""


def execute(
    run: TerraformRun,
    *,
    provider: CloudProvider,
    states: StateStorage,
    module_root: Path,
    on_progress: OnProgress,
    stop: threading.Event,
    timeout_s: float = _TIMEOUT_S,
) -> RunResult:
    """Do what the run names and nothing else; safe to repeat after any crash.

    `states` are those of the installation, `module_root` one folder per cloud
    (`terraform/modules`). `timeout_s` bounds each Terraform command. Blocks until the run is over; call it
    from a worker thread.

    What exists and the state does not know is adopted or imported first, as a step of its own.

    Raises `QuotaExceeded` or `AuthFailed` before a surge that the account, its networks or its credentials have no
    room for, and `AuthFailed` before a release that deletes a VM they may not make again, as far as the cloud tells
    that; else
    `UnsafeChange` (nothing was applied), `NotImportable`, `RunInProgress`, `RunInterrupted` (stop was
    set, or time is over), whatever typed error the cloud gave, else `TerraformFailed`.
    """
    started = time.monotonic()
    state = states.of(state_key(run.resources.cluster_uid, run.resources.place))
    variables = provider.variables(rendered(run))
    imported: tuple[str, ...] = ()
    with state.locked(run.intent_id, on_lost=stop.set) as access:
        here = _Bench(state, access, provider, module_root, on_progress, stop, timeout_s)
        state.repair()
        known = _last_known(state)
        if _repeats_creates(provider):
            if (adopting := adopting_run(run, targets_in(known), provider)) is not None:
                here.perform(adopting, provider.variables(rendered(adopting)))
        elif (step := import_step(run, known, provider)) is not None:
            here.perform(step.run, provider.variables(rendered(step.run)), step.imports)
            imported = tuple(i.address for i in step.imports)
        _check_before(run, provider, targets_in(_last_known(state)), here.say)
        if run.tagging is not None:
            variables = {**variables, **here.tags_now(run, variables, run.tagging)}
        changed = here.perform(run, variables)
        if run.kind is RunKind.GROW and isinstance(provider, GrowsVolumes):
            provider.grow_volumes(run.resources, run.grows)
        instances = instance_ids_in(state.read())
    named = run.creates | run.deletes | run.grows.keys()
    return RunResult(
        changed=changed,
        done_before=tuple(sorted(named - set(changed))),
        seconds=time.monotonic() - started,
        imported=imported,
        instances=instances,
    )


def _check_before(run: TerraformRun, provider: CloudProvider, held: Set[str], say: Callable[[str], None]) -> None:
    """What the account, its networks and its credentials have room for, of what the state does not hold yet."""
    new = run.creates - held
    networks.check_ipv6(provider, run.resources, new)
    if run.kind is RunKind.SURGE and isinstance(provider, quota.TellsQuotas):
        quota.check_room(provider, run.resources, new, _sold_to(provider.name, run.resources))
    if run.kind is RunKind.SURGE and isinstance(provider, preflight.PreflightCheck):
        preflight.check_ahead(provider, run.resources, new, say)
    if run.kind is RunKind.RELEASE and isinstance(provider, preflight.PreflightCheck):
        preflight.check_successors(provider, run.resources, run.deletes & held, say)


@dataclass(frozen=True, slots=True)
class _Bench:
    """Where runs of one state are carried out, one after the other, under its lock."""

    state: TerraformState
    access: StateAccess
    provider: CloudProvider
    module_root: Path
    on_progress: OnProgress
    stop: threading.Event
    timeout_s: float

    def say(self, told: str) -> None:
        """To whoever watches the run."""
        self.on_progress(RunProgress(ProgressKind.WARNING, "", "", told))

    def perform(
        self, run: TerraformRun, variables: Mapping[str, object], imports: Sequence[Import] = ()
    ) -> tuple[str, ...]:
        """The targets that were changed. With `imports` the run takes those into the state."""
        workspace = open_workspace(
            self.state.folder.workspaces,
            module=self.module_root / self.provider.name,
            access=self.access,
            variables=variables,
            intent_id=run.intent_id,
            imports=imports,
            grows=run.kind is RunKind.GROW and not imports,
            tags=run.kind is RunKind.TAG and not imports,
        )
        with self._terraform_in(workspace, run) as terraform:
            return _perform(run, terraform, self.state, self.provider, imports)

    def tags_now(
        self, run: TerraformRun, variables: Mapping[str, object], tagging: Tagging
    ) -> Mapping[str, Mapping[str, object]]:
        """The variable of a tag run: what all there is carries, as the cloud tells it now, with the run's change."""
        module = self.module_root / self.provider.name
        workspace = open_workspace(
            self.state.folder.workspaces,
            module=module,
            access=self.access,
            variables=variables,
            intent_id=run.intent_id,
        )
        with self._terraform_in(workspace, run) as terraform:
            return {RETAGS: retags(terraform.plan(), module, tagging)}

    @contextmanager
    def _terraform_in(self, workspace: Workspace, run: TerraformRun) -> Iterator[TerraformRunner]:
        try:
            self._pay(run)
            terraform = _runner(
                workspace,
                run,
                self.provider,
                self.access,
                on_progress=self.on_progress,
                stop=self.stop,
                timeout_s=self.timeout_s,
            )
            with terraform.prepared(Initialised.of(self.state)):
                yield terraform
        except errors.TerraformFailed as error:
            raise diagnosed(error, self.provider, run.resources.place) from error
        finally:
            workspace.remove()

    def _pay(self, run: TerraformRun) -> None:
        """For the calls the run will make, before it makes any. Raises `RateLimited` where the wait is too long."""
        if isinstance(self.provider, SharesCalls):
            calls = CALLS_PER_RESOURCE * len(targets_of(run.resources)) + CALLS_OF_A_RUN
            bucket = self.provider.calls(run.resources.place)
            bucket.take(calls, patience_s=self.timeout_s, stop=self.stop)


def _perform(
    run: TerraformRun,
    terraform: TerraformRunner,
    state: TerraformState,
    provider: CloudProvider,
    imports: Sequence[Import],
) -> tuple[str, ...]:
    for path in _left_behind(state):
        terraform.push_state(path)
    state.folder.clear_workspaces(keep=terraform.workspace.directory)
    state.keep_copy()
    # An import looks at nothing but what it imports: whatever else has changed is for the run after it to judge.
    plan = terraform.plan(refresh=not imports)
    if _settle(run, terraform, resources_before(plan), provider):
        plan = terraform.plan(refresh=not imports)
    changes = planned_changes(plan)
    if imports:
        check_import(changes, run, frozenset(i.address for i in imports))
    else:
        check(changes, run)
    acting = tuple(sorted({c.target for c in changes if c.action in _ACTING}))
    if acting or imports:
        terraform.apply()
    return acting


def _last_known(state: TerraformState) -> bytes | None:
    """The newest state there is, be it one that still has to be pushed."""
    left = _left_behind(state)
    return left[-1].read_bytes() if left else state.read()


def _left_behind(state: TerraformState) -> tuple[Path, ...]:
    """States Terraform could not write (`errored.tfstate`) and that are newer than what is kept, oldest first."""
    errored = state.folder.errored_states()
    if not errored:
        return ()
    kept = serial_of(state.read() or b"")
    return tuple(path for path in errored if serial_of(path.read_bytes()) > kept)


def _settle(
    run: TerraformRun, terraform: TerraformRunner, held: tuple[StateResource, ...], provider: CloudProvider
) -> bool:
    """Bring the state in line with what is proved: the gone leave it, the unfinished are judged. True if it changed."""
    gone = tuple(r.address for r in held if r.target in run.forget)
    terraform.forget(gone)
    questioned = in_question(held, run)
    if not questioned:  # the usual case, and it needs no look at the inventory
        return bool(gone)
    listing = provider.list_place(run.resources.place)
    settlement = settle(questioned, run, listing, repeatable=_repeats_creates(provider))
    for address in settlement.untaint:
        terraform.untaint(address)
    terraform.forget(settlement.recreate)
    return bool(gone or settlement.untaint or settlement.recreate)


def _sold_to(cloud: str, wanted: Resources) -> catalog_file.CatalogFile:
    """The catalogue with the types the cluster's specs gave figures of."""
    return catalog_file.sold_by(cloud, [one.given for one in wanted.instances if one.given is not None])


def _repeats_creates(provider: CloudProvider) -> bool:
    return isinstance(provider, RepeatsCreates) and provider.creates_are_repeatable()


def _runner(
    workspace: Workspace,
    run: TerraformRun,
    provider: CloudProvider,
    access: StateAccess,
    *,
    on_progress: OnProgress,
    stop: threading.Event,
    timeout_s: float,
) -> TerraformRunner:
    return TerraformRunner(
        workspace,
        environment=environment_of(run.intent_id, provider, run.resources.place, access.environment),
        stop=stop,
        on_progress=on_progress,
        timeout_s=timeout_s,
    )
