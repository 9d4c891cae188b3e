"""Who may change an ensemble: ZooKeeper's super user, whose password is made of the server's key and never stored.

ZooKeeper Administrator's Guide, `zookeeper.DigestAuthenticationProvider.superDigest`: servers are told
`super:<base64(sha1("super:<password>"))>`; a client that shows the password may do everything.
"""

import base64
import hashlib
import hmac


def super_password(server_key: bytes, cluster_uid: str) -> str:
    """The same for all servers of a cluster, for as long as the key lives; 256 bits, hex."""
    return hmac.new(server_key, f"zookeeper super user of {cluster_uid}".encode(), hashlib.sha256).hexdigest()


def super_digest(password: str) -> str:
    """What servers are started with. It is safe to show: the password has 256 bits, so no list of words finds it."""
    digest = hashlib.sha1(f"super:{password}".encode(), usedforsecurity=False).digest()
    return f"super:{base64.b64encode(digest).decode('ascii')}"
