"""The console of a VM that never joined, kept for whoever asks why: one row a node in the latest-value table.

It is read once, when the join is given up, and it may be lost. What is secret in it is cut out before it is kept.
"""

import json
import re
from collections.abc import Callable
from datetime import datetime

from controlplane.cluster.places import place_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.situation.ports import ReadsConsole
from controlplane.storage.latest_values import LatestStore, LatestValue, Subject
from events.ids import ClusterUid
from providers.base import CloudProvider
from providers.console import TellsConsole, tail
from providers.errors import ProviderError

CONSOLE = "console-output"
"""Kind of the latest-value rows; the name is the node: what its last VM that never joined wrote takes the place of
what the one before wrote."""


_CUT = "[cut]"
_SECRET = re.compile(
    r"(?P<name>[\"']?[\w-]*(?:token|password|passwd|secret|private[_-]?key)[\w-]*[\"']?\s*[:=]\s*[\"']?)[^\s\"',}]+",
    re.IGNORECASE,
)
_KEY_BLOCK = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)


def reading_through(cloud: Callable[[str], CloudProvider]) -> ReadsConsole:
    """Asks the cloud of the place the instance lives in."""

    def read(view: ClusterView, instance: InstanceView) -> str | None:
        place = place_of(view, instance)
        provider = cloud(place.cloud)
        return provider.console(place, instance.cloud_id) if isinstance(provider, TellsConsole) else None

    return read


def keep_console(
    view: ClusterView, instance: InstanceView, read: ReadsConsole, boot_data: str, latest: LatestStore, at: datetime
) -> None:
    """Reads it and keeps the end, or why there is none. Whatever the cloud says, the tick goes on."""
    try:
        text = read(view, instance) if instance.cloud_id else None
        why = (
            "" if text else "the cloud keeps no console, or tells it nobody" if text is None else "nothing was written"
        )
    except ProviderError as error:
        text, why = None, f"it could not be read: {error}"
    value = {"key": instance.key, "text": tail(without_secrets(text or "", boot_data)), "why": why}
    latest.put(
        LatestValue(Subject(CONSOLE, ClusterUid(view.uid), instance.node), value, source="cloud", observed_at=at)
    )


def without_secrets(text: str, boot_data: str) -> str:
    """The text without the VM's own enrolment token, and without what is named as a secret. Pure."""
    for secret in _secrets_in(boot_data):
        text = text.replace(secret, _CUT)
    return _KEY_BLOCK.sub(_CUT, _SECRET.sub(rf"\g<name>{_CUT}", text))


def _secrets_in(boot_data: str) -> list[str]:
    try:
        document = json.loads(boot_data)
    except ValueError:
        return []
    token = document.get("token") if isinstance(document, dict) else None
    return [token] if isinstance(token, str) and token else []
