"""Events as lines: when, which, who, and what was said."""

import json
from typing import Any

from rich.text import Text

from controlplane.api.schemas.clusters import EventOut
from controlplane.runtime.quantities import moment
from controlplane.runtime.styled_text import styled

_MAX_DATA = 160


def event_line(event: EventOut, *, wide: bool) -> Text:
    """`2026-01-02 03:04:05Z  12  DrainRequested  drain=... keys=[...]`; `wide` does not cut the data."""
    line = styled(moment(event.at), "dim").append_text(styled(f"  {event.version:>5}  "))
    line.append_text(styled(f"{event.type:<26}", "bold"))
    data = " ".join(f"{key}={_short(value)}" for key, value in event.data.items())
    shown = data if wide or len(data) <= _MAX_DATA else data[: _MAX_DATA - 3] + "..."
    return line.append_text(styled(f"  {shown}")).append_text(
        styled(f"  by {event.actor}" if event.actor else "", "dim")
    )


def _short(value: Any) -> str:
    return value if isinstance(value, str) and " " not in value else json.dumps(value, ensure_ascii=False)
