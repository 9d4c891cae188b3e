"""The serial log of a VM with boot diagnostics. Azure gives an address that is signed, the log is in its storage."""

from collections import deque

import requests

from providers.azure.access import Clients
from providers.azure.errors import translated
from providers.base import Place
from providers.console import LAST_BYTES, tail
from providers.errors import AuthFailed, CloudUnavailable

_SIGNED_MIN = 5
_LIMITS = (3.0, 7.0)
_CHUNK = 16 * 1024
_MOST_READ = 16 * 1024 * 1024
"""The log grows from the VM's first boot; what is beyond that is not asked for."""


def read_console(clients: Clients, place: Place, group: str, name: str) -> str:
    """The end of the log. Raises `ProviderError`: `ResourceConflict` where the VM has no boot diagnostics."""
    with translated(f"{place}: console of {name}"):
        told = clients.compute.virtual_machines.retrieve_boot_diagnostics_data(
            group, name, sas_uri_expiration_time_in_minutes=_SIGNED_MIN
        )
    return _end_of(str(told.serial_console_log_blob_uri or ""), f"{place}: console of {name}")


def _end_of(address: str, what: str) -> str:
    """The address is a secret while it lasts: no error tells it."""
    if not address:
        return ""
    kept: deque[bytes] = deque(maxlen=LAST_BYTES // _CHUNK + 1)
    read = 0
    try:
        with requests.get(address, stream=True, timeout=_LIMITS) as answer:
            if answer.status_code == 404:
                return ""
            if answer.status_code != 200:
                refused = AuthFailed if answer.status_code == 403 else CloudUnavailable
                raise refused(f"{what}: Azure's storage answered {answer.status_code}")
            for chunk in answer.iter_content(_CHUNK):
                kept.append(chunk)
                read += len(chunk)
                if read > _MOST_READ:
                    break
    except requests.RequestException as error:
        raise CloudUnavailable(f"{what}: no answer of Azure's storage ({type(error).__name__})") from None
    return tail(b"".join(kept).decode(errors="replace"))
