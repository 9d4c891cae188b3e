"""One audit: `plan -refresh-only` on a copy of the state, so it holds up no run and nothing it does can be kept.

The copy is in a workspace of its own, thrown away afterwards. If a run changed the state meanwhile, what was found
may be that run's own doing and is not told.
"""

import threading
from collections.abc import Mapping
from pathlib import Path

from providers.audits import Audit, AuditFound, AuditSuperseded, CloudAudit
from providers.base import CloudProvider
from providers.errors import TerraformFailed
from providers.tf.abilities import SharesCalls
from providers.tf.diagnosis import diagnosed
from providers.tf.drift import drifts_in
from providers.tf.execute import CALLS_OF_A_RUN, CALLS_PER_RESOURCE
from providers.tf.initialised import Initialised
from providers.tf.modules import dynamic_blocks
from providers.tf.network_run import NETWORK_OUTPUTS, network_module
from providers.tf.progress import OnProgress
from providers.tf.run_folder import RunFolder
from providers.tf.runner import TerraformRunner
from providers.tf.state_body import addresses_in, serial_of
from providers.tf.states import IN_A_FILE, STATE_PATH, StateAccess, StateStorage, state_key
from providers.tf.surroundings import environment_of
from providers.tf.workspace import Workspace, open_workspace

_TIMEOUT_S = 600.0
PATIENCE_S = 30.0
"""So long an audit waits for its share of the calls; then it is for another hour: rolls draw on the same bucket."""


def audit(
    asked: Audit,
    *,
    provider: CloudProvider,
    states: StateStorage,
    module_root: Path,
    on_progress: OnProgress,
    stop: threading.Event,
    timeout_s: float = _TIMEOUT_S,
) -> AuditFound:
    """Look, and change nothing: neither the cloud nor the state. Blocks; call it from a worker thread.

    Raises `AuditSuperseded`, `RunInProgress` (another audit of that state), `RunInterrupted`, whatever typed error the
    cloud gave (`RateLimited` where its calls are used up), else `TerraformFailed`.
    """
    place = asked.place
    state = states.of(state_key(asked.of, place))
    body = state.read()
    held = addresses_in(body)
    if body is None or not held:
        return AuditFound((), 0)
    folder = RunFolder(state.folder.directory, "audit")
    with folder.locked(asked.id):
        folder.clear_workspaces(keep=folder.workspaces)
        if isinstance(provider, SharesCalls):
            calls = CALLS_PER_RESOURCE * len(held) + CALLS_OF_A_RUN
            provider.calls(place).take(calls, patience_s=PATIENCE_S, stop=stop)
        workspace = _workspace(asked, provider, module_root, folder)
        try:
            _copy(body, workspace)
            terraform = TerraformRunner(
                workspace,
                environment=environment_of(asked.id, provider, place),
                stop=stop,
                on_progress=on_progress,
                timeout_s=timeout_s,
            )
            with terraform.prepared(Initialised.of(state)):
                found = drifts_in(terraform.plan(refresh_only=True), _dynamic(asked, module_root))
        except TerraformFailed as error:
            raise diagnosed(error, provider, place) from error
        finally:
            workspace.remove()
    if serial_of(state.read() or b"") != serial_of(body):
        raise AuditSuperseded(f"{place}: a run changed the state while it was audited")
    return AuditFound(found, len(held))


def _dynamic(asked: Audit, module_root: Path) -> Mapping[str, frozenset[str]]:
    """The rules of a firewall are such blocks. Those of a VM say what the cloud completes by itself: they stay out."""
    if isinstance(asked, CloudAudit):
        return {}
    return dynamic_blocks(module_root / f"{asked.place.cloud}-network")


def _workspace(asked: Audit, provider: CloudProvider, module_root: Path, folder: RunFolder) -> Workspace:
    """Rendered as a run on that state would be. Raises `PlaceUnknown` for a network on a cloud that makes none."""
    access = StateAccess(IN_A_FILE)
    if isinstance(asked, CloudAudit):
        return open_workspace(
            folder.workspaces,
            module=module_root / provider.name,
            access=access,
            variables=provider.variables(asked.resources),
            intent_id=asked.id,
        )
    module, variables = network_module(asked.network, provider, module_root)
    return open_workspace(
        folder.workspaces,
        module=module,
        access=access,
        variables=variables,
        intent_id=asked.id,
        outputs=NETWORK_OUTPUTS,
    )


def _copy(body: bytes, workspace: Workspace) -> None:
    copy = workspace.directory / STATE_PATH
    copy.parent.mkdir(mode=0o700)
    copy.touch(mode=0o600)
    copy.write_bytes(body)
