"""`[portal]`: people elsewhere, over TLS."""

from ipaddress import ip_address

from pydantic import Field, model_validator

from agent.host_port import HostPort
from controlplane.server.sections.section import AbsolutePath, Section, is_host


class PortalSection(Section):
    """Of the portal and the API off this machine."""

    host: str = Field(default="", description="an address of this machine to serve the portal and the API at, over TLS")
    port: int = Field(default=8444, ge=1, le=65535, description="the port for it")
    names: tuple[str, ...] = Field(
        default=(), description="what people call it there, `NAME` or `NAME:PORT`: every other `Host` is refused"
    )
    cert: AbsolutePath | None = Field(
        default=None, description="its certificate with the chain, PEM; read again when the file changes"
    )
    key: AbsolutePath | None = Field(default=None, description="the key that goes with it, PEM")

    @model_validator(mode="after")
    def _people_are_served_over_tls(self) -> "PortalSection":
        beside = {"portal.names": self.names, "portal.cert": self.cert, "portal.key": self.key}
        if not self.host:
            if any(beside.values()):
                lone = ", ".join(name for name, value in beside.items() if value)
                raise ValueError(f"{lone} is set, but portal.host is not: people are served on loopback only")
            return self
        try:
            ip_address(self.host)
        except ValueError:
            raise ValueError(
                f"portal.host {self.host!r} is not an IP address: name one of this machine to listen on; the "
                "names people call go into portal.names"
            ) from None
        missing = ", ".join(name for name, value in beside.items() if not value)
        if missing:
            raise ValueError(
                f"portal.host is set, but {missing} is not. Off loopback people are served over TLS only, by a "
                "certificate of yours, and only under the names they call: a page of another site could else reach it "
                "by a name of its own"
            )
        for name in self.names:
            if not _is_called(name):
                raise ValueError(f"portal.names has {name!r}: write a host name or address, and its port if it has one")
        return self


def _is_called(name: str) -> bool:
    """Whether it is a host, with or without a port."""
    try:
        return is_host(HostPort.parse(name, 0).host)
    except ValueError:
        return False
