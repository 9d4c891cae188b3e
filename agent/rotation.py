"""Swapping the VM's credential for a new one made here. The server says when: its clock alone counts."""

import logging

from agent.client import ServerClient
from agent.credential import CredentialFiles
from agent.identity import rotate_request
from agent.wire import BootData

_log = logging.getLogger(__name__)


class Rotation:
    """Three durable steps: made here, recorded there, in force here. The old one counts until the new one was used."""

    def __init__(self, boot: BootData, *, client: ServerClient, credential: CredentialFiles) -> None:
        self._boot = boot
        self._client = client
        self._credential = credential

    def run(self) -> None:
        """Begins a rotation, or goes on with one a crash cut short. Raises what `ServerClient` raises, and OSError."""
        shown = self._client.shown
        self._client.rotate(rotate_request(self._boot, self._credential.next()))
        self._client.show(self._credential.switch(shown=shown))
        _log.info("the credential was rotated; the one before counts until this one is used")
