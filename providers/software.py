"""What a VM of a plain Debian image installs at its first boot: from the person's own mirror, by checksum.

Without it, an image has everything already, the agent below `/opt/kedge` included (docs/boot.md).
"""

from pathlib import Path
from typing import Annotated, Literal, Self

from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import load_pem_x509_certificates
from pydantic import (
    AnyHttpUrl,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
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


class Software(BaseModel):
    """The section `software` of `<cloud>.yaml`. A change counts for VMs made after it; it rolls nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: Download
    """What `kedge agent-bundle` writes."""
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
            raise ValueError(f"ca: this is no certificate in PEM: {error}") from None
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

    def parts(self, kafka_version: str) -> list[dict[str, str]]:
        """What to fetch and where to put it, for `providers/boot/install.py`. Raises `LookupError`."""
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


def _archive(download: Download, directory: str, *, link: str = "") -> dict[str, str]:
    told = {"url": str(download.url), "sha256": download.sha256, "directory": directory}
    return {**told, "link": link} if link else told
