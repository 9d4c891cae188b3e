"""What a VM of a plain Debian image installs at its first boot: from the person's own mirror, by checksum.

Without it, an image has everything already, the agent below `/opt/kedge` included (docs/boot.md).
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import load_pem_x509_certificates
from pydantic import (
    AnyHttpUrl,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    field_validator,
    model_validator,
)

AGENT_DIR = "/opt/kedge/agent"
KAFKA_DIR = "/opt/kedge/kafka"

_Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
_Version = Annotated[str, StringConstraints(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")]
_Package = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.+-]+$")]
_Word = Annotated[str, StringConstraints(pattern=r"^[^\s'\"\\]+$")]
_Host = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9.:*_-]{1,253}$")]


class Download(BaseModel):
    """A file on the mirror. The checksum alone says what it is, so plain HTTP inside a network will do."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: AnyHttpUrl
    sha256: _Sha256


ARCHITECTURES = {"aarch64": "arm64", "arm64": "arm64", "x86_64": "x86_64", "amd64": "x86_64"}
"""Processor as Linux and others call it -> architecture as catalogues of machines and images do."""

_BUNDLE = re.compile(r"kedge-agent-.+-cp[0-9]+-(?P<processor>[a-z0-9_]+)\.tar\.gz$")
"""How `kedge agent-bundle` calls what it writes; it holds compiled packages."""


class AgentArchives(BaseModel):
    """What `kedge agent-bundle` writes, by architecture."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    arm64: Download | None = None
    x86_64: Download | None = None

    @model_validator(mode="after")
    def _each_for_its_own(self) -> Self:
        if not self.by_architecture:
            raise ValueError("agent: no archive is told; `kedge agent-bundle` writes them")
        for architecture, one in self.by_architecture.items():
            if (built_for := _built_for(one)) not in ("", architecture):
                raise ValueError(f"agent.{architecture}: {one.url} is built for {built_for} by its name")
        return self

    @property
    def by_architecture(self) -> dict[str, Download]:
        found = {"arm64": self.arm64, "x86_64": self.x86_64}
        return {name: one for name, one in found.items() if one is not None}


def _archives_or_one(told: object) -> str:
    """One file, or some by architecture: what is written says which, so that a slip is told of that."""
    return (
        "one" if isinstance(told, Download) or (isinstance(told, Mapping) and {"url", "sha256"} & set(told)) else "each"
    )


class Software(BaseModel):
    """The section `software` of `<cloud>.yaml`. A change counts for VMs made after it; it rolls nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: Annotated[
        Annotated[Download, Tag("one")] | Annotated[AgentArchives, Tag("each")], Discriminator(_archives_or_one)
    ]
    """What `kedge agent-bundle` writes: by architecture, or one archive where all VMs have the processor it is for."""
    kafka: dict[_Version, Download] = Field(min_length=1)
    """By version: Apache's own archive (`kafka_2.13-4.2.0.tgz`), or one like it."""
    jolokia: Download | None = None
    """`jolokia-agent-jvm-<version>-javaagent.jar`. Without it brokers tell no metrics, and findings are fewer."""
    java_package: _Package | None = "openjdk-17-jre-headless"
    """Debian's package, installed where there is no `java`; null where the image has one."""
    java: _Word = "java"
    filesystem: Literal["xfs", "ext4"] = "xfs"
    """Of data disks. Its tools (`xfsprogs`, `e2fsprogs`) are installed where they are missing."""
    apt_mirror: AnyHttpUrl | None = None
    """Debian's packages, where VMs do not reach deb.debian.org: the address below which `dists` is. The sources of the
    image are not asked then."""
    apt_security_mirror: AnyHttpUrl | None = None
    """Debian's security updates, likewise; needs `apt_mirror`."""
    apt_suite: Annotated[str, StringConstraints(pattern=r"^[a-z]{3,30}$")] = "bookworm"
    """The release of the image, where there is a mirror."""
    proxy: AnyHttpUrl | None = None
    """An HTTP proxy for all of it: packages and files. Agents do not use it, they call the server."""
    no_proxy: tuple[_Host, ...] = ()
    """Hosts and domains that are called without it."""
    ca: str | None = None
    """A CA, PEM, that mirror or proxy prove themselves with beside those the image believes: for all of it."""

    @field_validator("ca")
    @classmethod
    def _is_a_certificate(cls, told: str | None) -> str | None:
        if told is None:
            return None
        try:
            found = load_pem_x509_certificates(told.encode())
        except ValueError as error:
            raise ValueError(f"ca: this is not a certificate in PEM: {error}") from None
        return "".join(one.public_bytes(Encoding.PEM).decode() for one in found)

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.apt_security_mirror is not None and self.apt_mirror is None:
            raise ValueError("apt_security_mirror: without apt_mirror the sources of the image are asked")
        if self.proxy is not None and (self.proxy.username or self.proxy.password):
            raise ValueError(
                "proxy: no name or password, whoever reads a VM's boot data would have it; let VMs in by network"
            )
        if self.no_proxy and self.proxy is None:
            raise ValueError("no_proxy: there is no proxy")
        return self

    def agent_for(self, architecture: str) -> Download | None:
        """The archive a machine of that architecture runs; None where the settings have none for it. One archive whose
        name says nothing is taken for any."""
        if isinstance(self.agent, AgentArchives):
            return self.agent.by_architecture.get(architecture)
        return self.agent if _built_for(self.agent) in ("", architecture) else None

    def agent_architectures(self) -> tuple[str, ...]:
        """Those there is an agent for, sorted; none where one archive does not say."""
        if isinstance(self.agent, AgentArchives):
            return tuple(sorted(self.agent.by_architecture))
        return (found,) if (found := _built_for(self.agent)) else ()

    def on(self, architecture: str) -> Self:
        """As a machine of that architecture installs it: with one agent. One archive alone stays what it is, whatever
        its name says. Raises `LookupError` where there is none for it."""
        if not isinstance(self.agent, AgentArchives):
            return self
        return self.model_copy(update={"agent": self.agent.by_architecture[architecture]})

    def parts(self, kafka_version: str) -> list[dict[str, str]]:
        """What to fetch and where to put it, for `providers/boot/install.py`. Raises `LookupError`, for agents of
        several architectures too: which one it is to be, `on` says."""
        if isinstance(self.agent, AgentArchives):
            raise LookupError("which of the agents is not said")
        kafka = self.kafka[kafka_version]
        libs = f"{KAFKA_DIR}/{kafka_version}/libs"
        parts = [
            _archive(self.agent, f"{AGENT_DIR}/{self.agent.sha256[:16]}", link=f"{AGENT_DIR}/current"),
            {**_archive(kafka, f"{KAFKA_DIR}/{kafka_version}"), "strip": "1"},
        ]
        if self.jolokia is not None:
            name = Path(self.jolokia.url.path or "").name
            parts.append({"url": str(self.jolokia.url), "sha256": self.jolokia.sha256, "file": f"{libs}/{name}"})
        return parts

    def packages(self, *, filters: bool = False) -> dict[str, str]:
        """Command that has to be there -> Debian's package that has it. `filters`: the VM filters packets itself."""
        tools = {"xfs": ("mkfs.xfs", "xfsprogs"), "ext4": ("mkfs.ext4", "e2fsprogs")}
        command, package = tools[self.filesystem]
        java = {self.java: self.java_package} if self.java_package else {}
        return {**java, command: package, **({"nft": "nftables"} if filters else {})}


def _built_for(agent: Download) -> str:
    """The architecture an archive's name says, "" where it says none."""
    found = _BUNDLE.search(agent.url.path or "")
    return ARCHITECTURES.get(found["processor"], "") if found else ""


def _archive(download: Download, directory: str, *, link: str = "") -> dict[str, str]:
    told = {"url": str(download.url), "sha256": download.sha256, "directory": directory}
    return {**told, "link": link} if link else told
