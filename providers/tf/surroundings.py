"""What every Terraform process gets of ours, whatever its cloud: the way out of this network, and where plugins are."""

import os
from collections.abc import Mapping
from pathlib import Path

from providers.base import CloudProvider, Place
from providers.tf.abilities import GivesEnvironment
from providers.tf.run_folder import RUN_ID

_PASSED_ON = ("HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "GOGC", "GOMEMLIMIT")
"""The last two say how much memory Go programs take rather than time: Terraform, and its providers."""


def surroundings(plugins: Path | None, *more: str) -> dict[str, str]:
    """Variables of this process that go on to Terraform, `more` of them by name; `plugins` as in `CloudSettings`."""
    given = {name: os.environ[name] for name in (*_PASSED_ON, *more) if name in os.environ}
    if plugins is not None:
        # Terraform's implied mirrors are below the XDG data folders; it asks no registry for what it finds there.
        given["XDG_DATA_DIRS"] = str(plugins)
    return given


def environment_of(
    run_id: str, provider: CloudProvider, place: Place, access: Mapping[str, str] | None = None
) -> dict[str, str]:
    """What a run's commands start with: the cloud's own variables there, the way to the state, and the id by which the
    processes of the run are found again."""
    given = provider.terraform_environment(place) if isinstance(provider, GivesEnvironment) else {}
    return {**given, **(access or {}), RUN_ID: run_id}
