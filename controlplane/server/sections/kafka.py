"""`[kafka]`: its images, and looks at consumer groups."""

import re
from pathlib import Path

from pydantic import Field, ValidationInfo, field_validator

from controlplane.background.consumer_groups.watch import WatchGroups
from controlplane.background.password_sinks.file_sink import directory_of
from controlplane.background.password_sinks.vault_binding import VaultBinding
from controlplane.server.sections.section import AbsolutePath, Section, absolute
from events.spec.scalars import DNS_LABEL


class KafkaSection(Section):
    """Of Kafka."""

    dir: Path = Field(default=Path(".cache/kafka"), description="Kafka images: <version>/libs/*.jar")
    watch_groups: WatchGroups = Field(
        default="asked",
        description="consumer groups looked at again: `asked` (for 15 min after a person asked), `always`, `off`",
    )
    groups_poll_s: float = Field(default=60.0, ge=1, le=3600, description="seconds between two looks at groups")

    client_properties: dict[str, AbsolutePath] = Field(
        default={}, description="by what clusters of others are dialled: the name specs use, and the 0600 file"
    )

    own_cas: dict[str, AbsolutePath] = Field(
        default={}, description="certificate authorities of your own: the name specs use, and the directory"
    )

    password_sinks: dict[str, str | VaultBinding] = Field(
        default={},
        description="where passwords of users are written to: the name specs use, and `file:/DIRECTORY` or a Vault",
    )

    @field_validator("password_sinks")
    @classmethod
    def _sinks_that_there_are(cls, sinks: dict[str, str | VaultBinding]) -> dict[str, str | VaultBinding]:
        for name, sink in sinks.items():
            try:
                if isinstance(sink, str):
                    directory_of(sink)
            except ValueError as error:
                raise ValueError(f"kafka.password_sinks.{name}: {error}") from None
        return sinks

    @field_validator("client_properties", "own_cas", "password_sinks")
    @classmethod
    def _names_that_specs_can_use(cls, files: dict[str, object], info: ValidationInfo) -> dict[str, object]:
        for name in files:
            if not re.fullmatch(DNS_LABEL, name):
                raise ValueError(f"kafka.{info.field_name} has {name!r}: a spec names it by a to z, 0 to 9 and dashes")
        return files

    @field_validator("dir")
    @classmethod
    def _absolute(cls, path: Path) -> Path:
        return absolute(path)
