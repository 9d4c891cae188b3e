"""What every Terraform process gets of ours, whatever its cloud: the way out of this network, and where plugins are."""

import os
from pathlib import Path

_PASSED_ON = ("HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE")


def surroundings(plugins: Path | None, *more: str) -> dict[str, str]:
    """Variables of this process that go on to Terraform, `more` of them by name; `plugins` as in `CloudSettings`."""
    given = {name: os.environ[name] for name in (*_PASSED_ON, *more) if name in os.environ}
    if plugins is not None:
        # Terraform's implied mirrors are below the XDG data folders; it asks no registry for what it finds there.
        given["XDG_DATA_DIRS"] = str(plugins)
    return given
