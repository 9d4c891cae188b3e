"""What an image has over Debian's packages: agent, Kafka, and few files of settings."""

import io
import tarfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path, PurePosixPath

from controlplane.server.machine_images.manifest import digest_of
from controlplane.server.machine_images.refusal import ImageRefused
from providers.cloud_init import SYSCTL_FILE, sysctl_text
from providers.software import AGENT_DIR, KAFKA_DIR

DATASOURCES = ("NoCloud", "Ec2", "GCE", "Azure", "DigitalOcean", "Hetzner", "UpCloud", "None")
"""Where cloud-init looks for user data: the clouds Kedge knows. Others are not asked, so nothing waits for them."""


@dataclass(frozen=True, slots=True)
class SymbolicLink:
    """A symbolic link."""

    target: str


Content = bytes | Path | SymbolicLink


@dataclass(frozen=True, slots=True)
class Jar:
    """One of Kafka's libraries. `coordinates` are Maven's, as in `org.apache.kafka:kafka-clients`; "" where unknown."""

    name: str
    sha256: str
    coordinates: str
    version: str


def kafka_entries(version: str, source: Path, scratch: Path) -> dict[str, Content]:
    """Kafka's jars by their path in the image, from its archive or a folder with `libs`. Raises `ImageRefused`."""
    try:
        libs = _libs_of(source, scratch)
    except (OSError, tarfile.TarError, EOFError) as error:
        raise ImageRefused(f"{source} cannot be read: {error}", next_step=_GET_KAFKA) from None
    jars = sorted(libs.glob("*.jar"))
    clients = [jar.name for jar in jars if jar.name.startswith("kafka-clients-")]
    if clients != [f"kafka-clients-{version}.jar"]:
        held = ", ".join(clients) or "no kafka-clients"
        raise ImageRefused(f"{source} is not Kafka {version}: it holds {held}", next_step=_GET_KAFKA)
    return {f"{KAFKA_DIR}/{version}/libs/{jar.name}": jar for jar in jars}


_GET_KAFKA = "give Apache's own archive (kafka_2.13-VERSION.tgz), or a folder with `libs`: `--kafka-files`"


def _libs_of(source: Path, scratch: Path) -> Path:
    if source.is_dir():
        return source / "libs"
    libs = scratch / "libs"
    libs.mkdir()
    with tarfile.open(source) as archive:
        for member in archive:
            path = PurePosixPath(member.name)
            if member.isfile() and path.suffix == ".jar" and path.parts[-2:-1] == ("libs",):
                member.name = path.name
                archive.extract(member, libs, filter="data")
    return libs


def agent_entries(bundle: Path, sha256: str) -> dict[str, Content]:
    """The agent where `kedge-software.service` would put it, so that it has nothing to fetch."""
    home = f"{AGENT_DIR}/{sha256[:16]}"
    found: dict[str, Content] = {f"{AGENT_DIR}/current": SymbolicLink(home)}
    with tarfile.open(bundle) as archive:
        for member in archive:
            if member.isfile() and (source := archive.extractfile(member)) is not None:
                found[f"{home}/{member.name}"] = source.read()
    return found


def settings_entries(root_uuid: str) -> dict[str, Content]:
    """The files of settings; nothing in them is of a cloud, a cluster or a person."""
    return {
        "/boot/grub/grub.cfg": _resource("grub.cfg").replace(b"@ROOT@", root_uuid.encode()),
        "/etc/cloud/cloud.cfg.d/95_kedge.cfg": (
            f"datasource_list: [{', '.join(DATASOURCES)}]\n"
            "ssh_genkeytypes: [ed25519]\nssh_pwauth: false\napt_preserve_sources_list: true\n"
        ).encode(),
        "/etc/fstab": f"UUID={root_uuid} / ext4 errors=remount-ro 0 1\n".encode(),
        "/etc/ssh/sshd_config.d/60-kedge.conf": b"PasswordAuthentication no\nPermitRootLogin prohibit-password\n",
        SYSCTL_FILE: sysctl_text().encode(),
    }


def write_contents(path: Path, entries: Mapping[str, Content], *, epoch: int) -> None:
    """A tar of plain files and links, sorted, root's, all of one time."""
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in sorted(entries.items()):
            entry = tarfile.TarInfo(name.lstrip("/"))
            entry.mtime, entry.mode = epoch, 0o644
            if isinstance(content, SymbolicLink):
                entry.type, entry.linkname = tarfile.SYMTYPE, content.target
                tar.addfile(entry)
                continue
            with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as source:
                entry.size = source.seek(0, io.SEEK_END)
                source.seek(0)
                tar.addfile(entry, source)


def jars_of(entries: Mapping[str, Content]) -> Sequence[Jar]:
    """The jars among them, by name. Raises `ImageRefused` for one that is none."""
    return tuple(_jar(path) for path in sorted(e for e in entries.values() if isinstance(e, Path)))


def _jar(path: Path) -> Jar:
    try:
        with zipfile.ZipFile(path) as jar:
            told = [_properties(jar.read(name).decode()) for name in jar.namelist() if name.endswith("/pom.properties")]
    except (zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise ImageRefused(f"{path} is not a jar: {error}", next_step=_GET_KAFKA) from None
    sha256 = digest_of(path)
    # A jar that has others packed into it names them as well: its own is that of its name.
    for one in told:
        if path.stem == f"{one.get('artifactId')}-{one.get('version')}":
            return Jar(path.name, sha256, f"{one['groupId']}:{one['artifactId']}", one["version"])
    name, _, version = path.stem.partition("-")
    for at, letter in enumerate(path.stem):
        if letter == "-" and path.stem[at + 1 : at + 2].isdigit():
            name, version = path.stem[:at], path.stem[at + 1 :]
            break
    group = "org.apache.kafka:" if "kafka" in name or name.startswith(("connect-", "trogdor")) else ""
    return Jar(path.name, sha256, f"{group}{name}" if group else "", version)


def _properties(text: str) -> dict[str, str]:
    return dict(_pairs(text))


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        key, separator, value = line.partition("=")
        if separator and not line.startswith("#"):
            yield key.strip(), value.strip()


def _resource(name: str) -> bytes:
    return (files("controlplane.server.machine_images") / name).read_bytes()
