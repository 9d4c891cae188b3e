"""What a VM of a plain Debian image installs at its first boot: from the person's own mirror, by checksum.

Without it, an image has everything already, the agent below `/opt/kedge` included (docs/boot.md).
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AnyHttpUrl, BaseModel, ConfigDict, Field, StringConstraints

AGENT_DIR = "/opt/kedge/agent"
KAFKA_DIR = "/opt/kedge/kafka"

_Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
_Version = Annotated[str, StringConstraints(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")]
_Package = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.+-]+$")]
_Word = Annotated[str, StringConstraints(pattern=r"^[^\s'\"\\]+$")]


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
