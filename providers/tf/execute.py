"""One guarded Terraform run from intent to outcome: repair, plan, guard, apply exactly that plan."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from providers.base import CloudProvider, TerraformRun
from providers.errors import TerraformFailed
from providers.tf.abilities import GivesEnvironment, RecognisesErrors, RepeatsCreates
from providers.tf.adoption import adopting_run
from providers.tf.guard import check
from providers.tf.initialised import Initialised
from providers.tf.plan import Action, StateResource, planned_changes, resources_before
from providers.tf.progress import OnProgress
from providers.tf.runfolder import RUN_ID
from providers.tf.runner import TerraformRunner
from providers.tf.statebody import serial_of, targets_in
from providers.tf.states import Access, StateStorage, TerraformState, state_key
from providers.tf.unfinished import in_question, settle
from providers.tf.workspace import Workspace, open_workspace, rendered

_TIMEOUT_S = 900.0


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run did. `changed` and `done_before` together are everything the run names.

    `done_before` was created (and is in the state) or deleted by an earlier, interrupted run of the same
    intent.
    """

    changed: tuple[str, ...]
    done_before: tuple[str, ...]
    seconds: float


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

    Raises `UnsafeChange` (nothing was applied), `RunInProgress`, `RunInterrupted` (stop was set, or time is
    over), whatever typed error the cloud gave, else `TerraformFailed`.
    """
    started = time.monotonic()
    state = states.of(state_key(run.resources.cluster_uid, run.resources.place))
    variables = provider.variables(rendered(run))
    with state.locked(run.intent_id, on_lost=stop.set) as access:
        here = _Bench(state, access, provider, module_root, on_progress, stop, timeout_s)
        state.repair()
        adopting = adopting_run(run, targets_in(state.read()), provider) if run.adopts is not None else None
        if adopting is not None:
            here.perform(adopting, provider.variables(rendered(adopting)))
        changed = here.perform(run, variables)
    named = run.creates | run.deletes
    return RunResult(
        changed=changed,
        done_before=tuple(sorted(named - set(changed))),
        seconds=time.monotonic() - started,
    )


@dataclass(frozen=True, slots=True)
class _Bench:
    """Where runs of one state are carried out, one after the other, under its lock."""

    state: TerraformState
    access: Access
    provider: CloudProvider
    module_root: Path
    on_progress: OnProgress
    stop: threading.Event
    timeout_s: float

    def perform(self, run: TerraformRun, variables: Mapping[str, object]) -> tuple[str, ...]:
        """The targets that were changed."""
        workspace = open_workspace(
            self.state.folder.workspaces,
            module=self.module_root / self.provider.name,
            backend=self.access.backend,
            variables=variables,
            intent_id=run.intent_id,
        )
        try:
            terraform = _runner(
                workspace,
                run,
                self.provider,
                self.access,
                on_progress=self.on_progress,
                stop=self.stop,
                timeout_s=self.timeout_s,
            )
            return _perform(run, terraform, self.state, self.provider)
        except TerraformFailed as error:
            Initialised(self.state.folder.initialised).drop()
            provider = self.provider
            recognised = provider.recognise(error.diagnostics) if isinstance(provider, RecognisesErrors) else None
            raise (recognised or error) from error
        finally:
            workspace.remove()


def _perform(
    run: TerraformRun, terraform: TerraformRunner, state: TerraformState, provider: CloudProvider
) -> tuple[str, ...]:
    terraform.prepare(Initialised(state.folder.initialised))
    for path in _left_behind(state):
        terraform.push_state(path)
    state.folder.clear_workspaces(keep=terraform.workspace.directory)
    state.keep_copy()
    plan = terraform.plan()
    if _settle(run, terraform, resources_before(plan), provider):
        plan = terraform.plan()
    changes = planned_changes(plan)
    check(changes, run)
    acting = tuple(sorted({c.target for c in changes if c.action in (Action.CREATE, Action.DELETE)}))
    if acting:
        terraform.apply()
    return acting


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
    repeatable = isinstance(provider, RepeatsCreates) and provider.creates_are_repeatable()
    settlement = settle(questioned, run, provider.list_place(run.resources.place), repeatable=repeatable)
    for address in settlement.untaint:
        terraform.untaint(address)
    terraform.forget(settlement.recreate)
    return bool(gone or settlement.untaint or settlement.recreate)


def _runner(
    workspace: Workspace,
    run: TerraformRun,
    provider: CloudProvider,
    access: Access,
    *,
    on_progress: OnProgress,
    stop: threading.Event,
    timeout_s: float,
) -> TerraformRunner:
    given = provider.terraform_environment(run.resources.place) if isinstance(provider, GivesEnvironment) else {}
    return TerraformRunner(
        workspace,
        environment={**given, **access.environment, RUN_ID: run.intent_id},
        stop=stop,
        on_progress=on_progress,
        timeout_s=timeout_s,
    )
