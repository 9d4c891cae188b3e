"""Terraform's runs as jobs of a server: with its modules, its states and the clouds of its settings."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from controlplane.server.settings import Settings
from providers.base import CloudProvider, TerraformRun
from providers.doctor import Mirrored
from providers.tf.execute import execute
from providers.tf.modules import module_root as shipped_modules
from providers.tf.progress import RunProgress
from providers.tf.states import StateStorage


def module_root(settings: Settings) -> Path:
    """Where the Terraform modules are: the named folder if it is there, else those shipped with `providers`."""
    named = settings.terraform.modules
    return named if named is not None and named.is_dir() else shipped_modules()


def mirrored(settings: Settings) -> Mirrored | None:
    """Where providers come from, for whoever looks a cloud over; None where a registry may be asked."""
    mirror = settings.terraform.provider_mirror
    return Mirrored(mirror, module_root(settings)) if mirror is not None else None


def run_terraform(
    settings: Settings,
    clouds: Callable[[str], CloudProvider],
    states: StateStorage,
    refuse_if_moved: Callable[[], None],
    run: TerraformRun,
    tell: Callable[[str], None],
    stop: threading.Event,
) -> Mapping[str, str]:
    """One guarded run, its progress told line by line. The ids of what it created, by key.

    Raises what `refuse_if_moved` raises where the states are no longer this server's, and `execute`'s errors.
    """
    refuse_if_moved()

    def on_progress(progress: RunProgress) -> None:
        tell(" ".join(part for part in (progress.kind, progress.action, progress.target, progress.message) if part))

    result = execute(
        run,
        provider=clouds(run.resources.place.cloud),
        states=states,
        module_root=module_root(settings),
        on_progress=on_progress,
        stop=stop,
    )
    return {key: cloud_id for key, cloud_id in result.instances.items() if f"instance/{key}" in run.creates}
