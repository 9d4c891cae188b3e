"""`[process]`: what runs in this process, where it listens on loopback, and what it writes to its log."""

from typing import Literal

from pydantic import Field, field_validator

from controlplane.runtime.loopback import is_loopback
from controlplane.server.sections.section import Section

LOOP, PORTAL, AGENTS = "loop", "portal", "agents"
"""Words of the setting `only`."""


class ProcessSection(Section):
    """Of the server's process."""

    only: Literal["", "loop", "portal", "agents", "relay"] = Field(
        default="",
        description="`loop`, `portal`, `agents` or `relay`: that part alone, as a process of its own, on PostgreSQL",
    )
    host: str = Field(default="127.0.0.1", description="a loopback address: plain HTTP is spoken on no other")
    port: int = Field(default=8428, ge=0, le=65535, description="0 lets the system choose")
    graceful_stop_s: float = Field(default=3.0, ge=0, le=60, description="how long open requests may go on at a stop")
    log_level: str = "INFO"
    log_format: Literal["text", "json"] = Field(default="text", description="`text` for people, `json` for machines")

    @field_validator("log_level")
    @classmethod
    def _known_level(cls, level: str) -> str:
        if level.upper() not in ("DEBUG", "INFO", "WARNING", "ERROR"):
            raise ValueError("expected DEBUG, INFO, WARNING or ERROR")
        return level.upper()

    @field_validator("host")
    @classmethod
    def _listens_on_loopback(cls, host: str) -> str:
        if not is_loopback(host):
            raise ValueError(
                f"host {host!r} is not a loopback address. There the API of people speaks plain HTTP, which would "
                "carry tokens readable over the network: listen on 127.0.0.1. People elsewhere are served over TLS: "
                "set portal.host, portal.names, portal.cert and portal.key. So are agents of VMs elsewhere: "
                "agents.host."
            )
        return host
