"""One guarded run on a network, from intent to outcome: import what nobody knows, plan, guard, apply exactly that plan.

Safe to repeat after any crash: what exists and the state does not know is imported where the provider can find it.
"""

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from providers.base import CloudProvider
from providers.errors import PlaceUnknown, TerraformFailed
from providers.networks import FindsNetworks, MakesNetworks, NetworkRun, NetworkRunKind, network_variables
from providers.tf import abilities, diagnosis, initialised, network_guard, progress, runner, state_body, surroundings
from providers.tf.plan import Action, planned_changes, resources_before
from providers.tf.states import StateAccess, StateKey, StateStorage, TerraformState, state_key
from providers.tf.workspace import open_workspace

_TIMEOUT_S = 900.0
_CALLS_EACH, _CALLS_OF_A_RUN = 3, 4
"""About what a run asks of a cloud, for each kind of thing in its module and besides; as for VMs, see `execute`."""

NETWORK_OUTPUTS = ("settings",)
"""What every module of a network gives (terraform/README.md)."""

_RESOURCE = re.compile(r'^resource "([a-z0-9_]+)" "([a-z0-9_]+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class NetworkResult:
    """What came of a run. `settings` is the module's output, empty after a removal; `changed` are addresses."""

    settings: Mapping[str, Any]
    changed: tuple[str, ...]
    imported: tuple[str, ...] = ()


def network_state_key(run: NetworkRun) -> StateKey:
    """Where a network's state is kept: beside those of clusters, under the network's own key."""
    return state_key(run.key, run.place)


def network_module(run: NetworkRun, provider: CloudProvider, module_root: Path) -> tuple[Path, Mapping[str, object]]:
    """The module that makes a network, and its variables. Raises `PlaceUnknown` for a cloud whose networks Kedge does
    not make."""
    if not isinstance(provider, MakesNetworks):
        raise PlaceUnknown(f"{run.place}: Kedge makes no networks on {provider.name}")
    return module_root / f"{provider.name}-network", network_variables(run, provider.network_variables(run.place))


def execute_network(
    run: NetworkRun,
    *,
    provider: CloudProvider,
    states: StateStorage,
    module_root: Path,
    on_progress: progress.OnProgress,
    stop: threading.Event,
    timeout_s: float = _TIMEOUT_S,
) -> NetworkResult:
    """Do what the run's kind allows to that network and nothing else. Blocks; call it from a worker thread.

    Raises `UnsafeChange` (nothing was applied), `RunInProgress`, `RunInterrupted`, whatever typed error the cloud gave,
    else `TerraformFailed`.
    """
    module, variables = network_module(run, provider, module_root)
    state = states.of(network_state_key(run))
    with state.locked(run.intent_id, on_lost=stop.set) as access:
        state.repair()
        bench = _NetworkBench(run, state, access, provider, module, variables)
        changed, imported = bench.perform(on_progress, stop, timeout_s)
        body = state.read()
    if run.kind is NetworkRunKind.REMOVE:
        return NetworkResult({}, changed, imported)
    settings = state_body.output_in(body, "settings")
    if not isinstance(settings, Mapping):
        raise TerraformFailed(f"{run.place}: the network {run.place.network} was made and its state has no `settings`")
    return NetworkResult(settings, changed, imported)


def module_resources(module: Path) -> frozenset[str]:
    """`<type>.<name>` of everything a module may make."""
    found = (_RESOURCE.findall(file.read_text()) for file in sorted(module.glob("*.tf")))
    return frozenset(f"{kind}.{name}" for pairs in found for kind, name in pairs)


@dataclass(frozen=True, slots=True)
class _NetworkBench:
    """Where one run is carried out, under the lock of its state."""

    run: NetworkRun
    state: TerraformState
    access: StateAccess
    provider: CloudProvider
    module: Path
    variables: Mapping[str, object]

    def perform(
        self, on_progress: progress.OnProgress, stop: threading.Event, timeout_s: float
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Addresses that were changed, and that were imported."""
        imports = self._imports()
        workspace = open_workspace(
            self.state.folder.workspaces,
            module=self.module,
            access=self.access,
            variables=self.variables,
            intent_id=self.run.intent_id,
            imports=imports,
            outputs=NETWORK_OUTPUTS,
        )
        provider, place = self.provider, self.run.place
        try:
            if isinstance(provider, abilities.SharesCalls):
                calls = _CALLS_EACH * len(module_resources(self.module)) + _CALLS_OF_A_RUN
                provider.calls(place).take(calls, patience_s=timeout_s, stop=stop)
            terraform = runner.TerraformRunner(
                workspace,
                environment=surroundings.environment_of(self.run.intent_id, provider, place, self.access.environment),
                stop=stop,
                on_progress=on_progress,
                timeout_s=timeout_s,
            )
            with terraform.prepared(initialised.Initialised.of(self.state)):
                return self._apply(terraform, imports)
        except TerraformFailed as error:
            raise diagnosis.diagnosed(error, provider, place) from error
        finally:
            workspace.remove()

    def _apply(
        self, terraform: runner.TerraformRunner, imports: tuple[abilities.Import, ...]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        for path in self._left_behind():
            terraform.push_state(path)
        self.state.folder.clear_workspaces(keep=terraform.workspace.directory)
        self.state.keep_copy()
        removing = self.run.kind is NetworkRunKind.REMOVE
        plan = terraform.plan(destroy=removing)
        tainted = [r.address for r in resources_before(plan) if r.tainted]
        if tainted and not removing:
            # Made, and its making ended badly: it is there. What is wrong with it the plan says; it is never replaced.
            for address in tainted:
                terraform.untaint(address)
            plan = terraform.plan()
        asked = frozenset(i.address for i in imports)
        network_guard.check_network(plan, self.run, module_resources(self.module), asked)
        acting = tuple(sorted(c.address for c in planned_changes(plan) if c.action not in (Action.NOOP, Action.READ)))
        if acting or asked or _changes_outputs(plan):
            terraform.apply()
        return acting, tuple(sorted(asked))

    def _imports(self) -> tuple[abilities.Import, ...]:
        """What of this network exists, by its marks, and the state does not know."""
        if self.run.kind is NetworkRunKind.REMOVE or not isinstance(self.provider, FindsNetworks):
            return ()
        left = self._left_behind()
        known = state_body.addresses_in(left[-1].read_bytes() if left else self.state.read())
        pieces = self.provider.network_pieces(self.run)
        return tuple(abilities.Import(address, one) for address, one in sorted(pieces.items()) if address not in known)

    def _left_behind(self) -> tuple[Path, ...]:
        """States Terraform could not write, newer than what is kept, oldest first."""
        errored = self.state.folder.errored_states()
        if not errored:
            return ()
        kept = state_body.serial_of(self.state.read() or b"")
        return tuple(path for path in errored if state_body.serial_of(path.read_bytes()) > kept)


def _changes_outputs(plan: Mapping[str, Any]) -> bool:
    """An output may change alone: on some clouds a zone is nothing but a word in it."""
    return any(change.get("actions") != ["no-op"] for change in plan.get("output_changes", {}).values())
