"""Deleting one server by UpCloud's API, which does it in steps: it must be stopped, and its root disk stays behind."""

from collections.abc import Callable, Mapping
from typing import Any

from providers.base import Place
from providers.errors import NotYetGone
from providers.upcloud import calls, errors, inventory, tags

_ATTEMPTS, _PAUSE_S = 8, 0.5
"""A hard stop takes seconds; what takes longer is for the next call."""

ROOT = "-root"
"""How the module ends the title of a root disk."""


def remove_server(api: calls.Calls, place: Place, server: Mapping[str, Any], *, sleep: Callable[[float], None]) -> None:
    """Stop it hard, delete it, delete its root disk. Repeatable. Raises `NotYetGone` while it has not stopped.

    The storages go along only where UpCloud is asked for that (`?storages=1`), which is never done.
    """
    uuid = str(server["uuid"])
    with errors.translated(f"{place}: stopping {uuid}"):
        if server["state"] == "started":
            api.post_request(f"/server/{uuid}/stop", body={"stop_server": {"stop_type": "hard"}})
    state = ""
    for _ in range(_ATTEMPTS):
        now = inventory.read_server(api, place, uuid)
        if now is None:
            return
        state = now["state"]
        if state == "stopped":
            break
        sleep(_PAUSE_S)
    else:
        raise NotYetGone(f"{place}: {uuid} has not stopped yet; it is in state {state}")
    with errors.translated(f"{place}: deleting {uuid}"):
        _deleted(api, f"/server/{uuid}")
        for disk in root_disks(server):
            _deleted(api, f"/storage/{disk}")


def root_disks(server: Mapping[str, Any]) -> list[str]:
    """Disks that were made with the server: named so by the module, and with no label but those that UpCloud itself
    gives to a disk cloned from a template (`_template_uuid`, `_os_type`). A data disk has ours."""
    title = f"{server['title']}{ROOT}"
    devices = server["storage_devices"]["storage_device"]
    return [str(d["storage"]) for d in devices if d["storage_title"] == title and not _of_users(tags.labels_of(d))]


def _of_users(labels: Mapping[str, str]) -> list[str]:
    """Keys that begin with an underscore are UpCloud's own, and nobody else can set them."""
    return [key for key in labels if not key.startswith("_")]


def _deleted(api: calls.Calls, what: str) -> None:
    try:
        api.delete_request(what)
    except errors.UpcloudAnswerError as error:
        if error.status != 404:
            raise
