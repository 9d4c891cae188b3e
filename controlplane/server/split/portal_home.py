"""What a portal keeps on disk: its own token and its own key, and whose installation it serves.

installation-id   as the database has it; cookies carry the beginning of it
portal-key        HMAC key of login forms and of the cookies of a sign-in by the provider (0600); nothing else
token             what people and the CLI show on this machine to this portal (0600)
server.json       where it listens, for the CLI
"""

import secrets

from pydantic import SecretBytes

from controlplane.server.split.forbidden_access import PortalRefused
from controlplane.storage.home import Home, Installation, minted
from events.secrets import remember, secret


def installation_of(home: Home, installation_id: str) -> Installation:
    """The portal's own secrets, minted where they are missing; never a key of the loop. Raises PortalRefused where the
    home was of a portal of another installation.
    """
    known = home.keep_installation_id(installation_id)
    if known != installation_id:
        raise PortalRefused(
            f"{home.path} is of a portal of installation {known}, and this database belongs to {installation_id}: name "
            "its own home, or an empty one"
        )
    key = minted(home.path / "portal-key", lambda: secrets.token_hex(32))
    remember(key)
    return Installation(
        id=installation_id,
        server_key=SecretBytes(bytes.fromhex(key)),
        token=secret(minted(home.token_file, lambda: secrets.token_urlsafe(32))),
    )
