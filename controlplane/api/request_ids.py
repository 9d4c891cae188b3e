"""The id of a request: in its answer, in the lines of the log that were written for it, in errors and in the audit.

It is made here. One that a program brings along counts where its token proved who it is: so what went through several
systems is found under one id, and no stranger puts ids into the audit that others know.
"""

import re
import secrets

from starlette.datastructures import Headers
from starlette.types import Scope

from controlplane.api.access.rights import Rights

HEADER = "X-Request-Id"

_WELL_FORMED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,63}", re.ASCII)
_BY_TOKEN = ("token:", "home token")
_KEY = "request_id"


def new_request_id() -> str:
    """A fresh one."""
    return secrets.token_hex(8)


def brought_id(headers: Headers, rights: Rights) -> str:
    """The id a known program brought along; "" where it brought none that counts."""
    brought = headers.get(HEADER, "")
    return brought if rights.via.startswith(_BY_TOKEN) and _WELL_FORMED.fullmatch(brought) else ""


def name_request(scope: Scope, request_id: str) -> None:
    """From here on that is the request's id."""
    scope.setdefault("state", {})[_KEY] = request_id


def request_id_of(scope: Scope) -> str:
    """The id of a request; "" of one that did not come by the gate."""
    return str(scope.get("state", {}).get(_KEY, ""))
