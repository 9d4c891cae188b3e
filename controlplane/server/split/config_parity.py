"""What the homes of a loop and of its portals have to say alike: by it a portal judges changes that the loop carries
out. Compared by hash, file by file; none of these files holds a secret.
"""

import hashlib
from collections.abc import Mapping
from operator import attrgetter

from controlplane.server.clouds import settings_file_of
from controlplane.server.settings import Settings
from providers.registry import names

_SETTINGS = {
    "networks": "networks",
    "freezes": "freezes",
    "max_rolling": "loop.max_rolling",
    "max_surge_per_account": "loop.max_surge_per_account",
    "metrics": "telemetry.metrics",
    "logs": "telemetry.logs",
    "cost_tags": "clouds.cost_tags",
}
"""Where they are, by the name they are told under to servers of any release."""


def files_alike(settings: Settings) -> dict[str, str]:
    """SHA-256 by name, of the files that are there and of the settings both go by. Raises OSError."""
    home = settings.home
    clouds = [file for cloud in names() if (file := settings_file_of(settings, cloud)) is not None]
    policies = sorted((home / "policies").glob("*.y*ml"))
    found = [file for file in (*clouds, home / "catalog.yaml", *policies) if file.is_file()]
    digests = {str(file.relative_to(home)): _sha256(file.read_bytes()) for file in found}
    for name, where in _SETTINGS.items():
        digests[f"setting {name}"] = _sha256(repr(attrgetter(where)(settings)).encode())
    return digests


def differing(mine: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    """The names that do not say the same, or are missing on one side."""
    return sorted(name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
