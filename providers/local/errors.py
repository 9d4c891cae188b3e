"""How a verb of the local cloud tells Terraform's caller which error it was: one marked line on stderr."""

import json
from collections.abc import Sequence

from providers import errors
from providers.errors import ProviderError

_MARK = "kedge-error "

_KNOWN: dict[str, type[ProviderError]] = {
    kind.__name__: kind
    for kind in (errors.NoCapacity, errors.CloudUnavailable, errors.PlaceUnknown, errors.ResourceConflict)
}


def marked(error: ProviderError) -> str:
    """The line a verb prints before it exits."""
    return _MARK + json.dumps({"type": type(error).__name__, "message": str(error)})


def recognise(diagnostics: Sequence[str]) -> ProviderError | None:
    """The first marked error in Terraform's diagnostics, None when there is none."""
    for text in diagnostics:
        _, mark, told = text.partition(_MARK)
        if mark:
            error, _ = json.JSONDecoder().raw_decode(told)
            return _KNOWN.get(error["type"], errors.CloudUnavailable)(error["message"])
    return None
