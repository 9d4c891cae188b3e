"""Names of what the module makes: at most 63 characters (RFC 1035), the same each time, never the same for two things.

`terraform/modules/google/names.tf` says the same in HCL; a test compares the two.
"""

import hashlib

_LONGEST = 63
_DIGITS = 16


def name_of(installation_id: str, cluster_uid: str, cluster_name: str, kind: str, key: str) -> str:
    """`k-<cluster>-<key>-<hash>`: what is for people is cut to fit, the hash tells things apart.

    `kind` is `instance`, `volume` or `address`. The hash is 64 bits of SHA-256 over installation, cluster uid, kind and
    key: that any two of 10 million things have the same one by chance is less likely than 1 in 100,000.
    """
    told = hashlib.sha256(f"{installation_id}/{cluster_uid}/{kind}/{key}".encode()).hexdigest()[:_DIGITS]
    words = f"k-{cluster_name}-{key}".replace(".", "-")[: _LONGEST - _DIGITS - 1]
    return f"{words.rstrip('-')}-{told}"
