"""Documents as tests change them."""

import copy
from collections.abc import Mapping
from typing import Any


def changed(document: Mapping[str, Any], *path: str, value: object) -> dict[str, Any]:
    """A copy with another value at that path; the original stays as it is."""
    file = copy.deepcopy(dict(document))
    here = file
    for name in path[:-1]:
        here = here[name]
    here[path[-1]] = value
    return file
