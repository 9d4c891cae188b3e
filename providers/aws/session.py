"""Sessions of boto3 that share what AWS's own descriptions of its services say.

A session reads them from files of botocore into memory, EC2's alone 4 MB of JSON, and keeps them as long as it lives;
they are no different from account to account. `data_loader` is the component of a botocore session that does it
(botocore, session.py and loaders.py).
"""

import threading
from typing import Any

import boto3
import botocore.session

_lock = threading.Lock()
_loaders: dict[str | None, Any] = {}
"""By where a profile has more descriptions, `data_path` of its configuration; None for most."""


def session_of(profile: str | None) -> Any:
    """A session of this profile, None for boto3's own search. Raises botocore's ProfileNotFound.

    As of boto3's other sessions, one thread at a time may make clients with it.
    """
    core = botocore.session.get_session()
    session = boto3.Session(botocore_session=core, profile_name=profile)
    with _lock:
        shared = _loaders.setdefault(core.get_config_variable("data_path"), core.get_component("data_loader"))
    core.register_component("data_loader", shared)
    return session
