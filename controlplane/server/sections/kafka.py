"""`[kafka]`: its images, and looks at consumer groups."""

from pathlib import Path

from pydantic import Field, field_validator

from controlplane.background.consumer_groups.watch import WatchGroups
from controlplane.server.sections.section import Section, absolute


class KafkaSection(Section):
    """Of Kafka."""

    dir: Path = Field(default=Path(".cache/kafka"), description="Kafka images: <version>/libs/*.jar")
    watch_groups: WatchGroups = Field(
        default="asked",
        description="consumer groups looked at again: `asked` (for 15 min after a person asked), `always`, `off`",
    )
    groups_poll_s: float = Field(default=60.0, ge=1, le=3600, description="seconds between two looks at groups")

    @field_validator("dir")
    @classmethod
    def _absolute(cls, path: Path) -> Path:
        return absolute(path)
