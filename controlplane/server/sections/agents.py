"""`[agents]`: where agents of VMs call, their credentials and their upgrades."""

from ipaddress import ip_address

from pydantic import Field, model_validator

from controlplane.server.sections.section import AbsolutePath, Section, is_host


class AgentsSection(Section):
    """Of the agents on VMs."""

    host: str = Field(
        default="", description="an address of this machine to serve agents of VMs elsewhere at, over TLS"
    )
    port: int = Field(default=8443, ge=0, le=65535, description="the port for it; 0 lets the system choose")
    name: str = Field(
        default="", description="host name or address VMs are told and the certificate names; empty: agents.host"
    )
    apart: bool = Field(
        default=False,
        description="`kedge server --only agents` serves agents at agents.name: this server tells VMs that address and "
        "does not listen there",
    )
    credential_life_s: float = Field(
        default=7 * 86_400.0, ge=10, le=365 * 86_400, description="age at which agents rotate their credential"
    )
    soak_s: float = Field(
        default=600.0, ge=0, le=604_800, description="agents' upgrade: how long the first VM and each stage are watched"
    )
    poll_s: float = Field(default=5.0, ge=0.1, le=600, description="seconds between two looks at agents")
    signing_key: AbsolutePath | None = Field(
        default=None, description="Ed25519 key agents are signed by, PEM; empty: one that follows from `server-key`"
    )

    @model_validator(mode="after")
    def _agents_can_call(self) -> "AgentsSection":
        if self.apart and not self.called:
            raise ValueError("agents.apart needs agents.name: the host name or address at which VMs call")
        if not self.host:
            if self.name and not self.apart:
                raise ValueError("agents.name is set, but agents.host is not: agents are served nowhere over TLS")
            return self._named()
        try:
            address = ip_address(self.host)
        except ValueError:
            raise ValueError(
                f"agents.host {self.host!r} is not an IP address: name one of this machine to listen on; the "
                "name VMs call goes into agents.name"
            ) from None
        if address.is_unspecified and not self.name:
            raise ValueError(
                f"agents.host {self.host} is every address of this machine: say in agents.name which one, or "
                "which host name, VMs call"
            )
        return self._named()

    def _named(self) -> "AgentsSection":
        if self.name and not is_host(self.name):
            raise ValueError(
                f"agents.name {self.name!r} is not a host name or address: give it without scheme and port, as in "
                "kedge.example.com"
            )
        return self

    @property
    def over_tls(self) -> bool:
        """Whether VMs call over TLS, at this server or at processes beside it."""
        return bool(self.host) or self.apart

    @property
    def called(self) -> str:
        """What VMs call and the certificate names, where agents are served over TLS."""
        return self.name or self.host
