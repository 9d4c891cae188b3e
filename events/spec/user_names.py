"""What a user of Kafka may be called.

A principal is a text to Kafka, wherever it comes from: a SCRAM user, or a certificate, that is called as a node is one.
So names are a closed alphabet without `=`, which every name of a node has; `super.users` is split at `;`.
"""

import re

from events.spec.scalars import USER_NAME

_KAFKAS = "anonymous"
_KEDGES = "kedge"


def why_no_user(name: str) -> str:
    """Why nobody may be called so, "" where they may."""
    if "\n" in name or re.fullmatch(USER_NAME, name) is None:
        return "a user is called by 1 to 63 of a to z, 0 to 9, `.`, `_` and `-`, and begins with a letter or a digit"
    if name == _KAFKAS:
        return "Kafka calls so whoever was not asked"
    return "such names are Kedge's own" if name == _KEDGES or name.startswith(f"{_KEDGES}-") else ""
