"""The private key of this VM's tunnels: made here, in no document, and nobody's but this VM's.

It outlives the agent and a reboot: with another key every tunnel of the VM would end at once.
"""

import base64
import binascii
import stat
from pathlib import Path

from agent.durable import write_durably
from agent.secret_log import remember
from agent.tools import Tool, output_of


class KeyUnusable(Exception):
    """The file of the key is damaged, others can read it, or another VM has the same key. What now: nothing is made
    anew, as peers know the old one; a person puts the file back, or replaces the VM."""


def own_key(file: Path, run: Tool) -> str:
    """As WireGuard writes it, made where there is none. Raises KeyUnusable and ToolFailed."""
    try:
        mode, key = file.stat().st_mode, file.read_text().strip()
    except FileNotFoundError:
        key = output_of(run, ("wg", "genkey")).strip()
        write_durably(file, f"{key}\n".encode(), mode=0o600)
        remember(key)
        return key
    except (OSError, UnicodeDecodeError) as error:
        raise KeyUnusable(f"{file} cannot be read: {error}") from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise KeyUnusable(f"{file} may be read by others (mode {stat.S_IMODE(mode):o}): the key in it is no secret")
    if not is_key(key):
        raise KeyUnusable(f"{file} holds no key of WireGuard: 32 bytes in base64")
    remember(key)
    return key


def public_half(key: str) -> str:
    """What peers know it by, as `wg pubkey` has it. The library is loaded where there is an overlay alone."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    private = X25519PrivateKey.from_private_bytes(base64.b64decode(key))
    return base64.b64encode(private.public_key().public_bytes_raw()).decode()


def is_key(text: str) -> bool:
    """Whether it is a key, a private or a public one: 32 bytes, not all of them zero."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return len(raw) == 32 and any(raw)
