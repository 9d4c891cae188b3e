"""Folders beside the packages that a wheel carries inside them. An editable installation reads them where they are."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CARRIED = {
    "terraform": "providers/_terraform",
    "alembic": "events/_alembic",
    "requirements.lock": "controlplane/_requirements.lock",
}


class WheelData(BuildHookInterface[Any]):
    """`version`: `standard` of a wheel, `editable` of a checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard":
            build_data["force_include"].update(CARRIED)
