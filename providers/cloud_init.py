"""What a VM of a real cloud is born with, for cloud-init: boot data, the agent's unit, and what installs the rest.

The same text for all clouds, but for the packet filter where VMs guard themselves. `tests/boot` boots a Debian with it.
"""

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Annotated, Literal

from pydantic import StringConstraints

from providers import base, catalog_file, errors, install_methods
from providers.software import AGENT_DIR, KAFKA_DIR, AgentArchives, Download, Software

BOOT_FILE = "/var/lib/kedge-agent/boot.json"
"""Where the agent reads its boot data (agent/layout.py)."""

LIMIT_BYTES = 16 * 1024
"""EC2's limit of user data, the smallest of the six clouds."""

_KINDS = "ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-(ssh-ed25519|ecdsa-sha2-nistp256)@openssh.com"
PublicKey = Annotated[str, StringConstraints(pattern=rf"^({_KINDS}) [A-Za-z0-9+/=]+( [^\n]*)?$", max_length=2048)]
"""A line of `authorized_keys` without options, as `ssh-keygen` writes it into a .pub file."""

_HEADER = "#cloud-config\n"
_AGENT_UNIT, _SOFTWARE_UNIT, _ROUTE_UNIT = (
    "kedge-agent.service",
    "kedge-software.service",
    "kedge-default-route.service",
)
_READ_ONLY, _PRIVATE = "0644", "0600"

SERVICE_USER = "kedge-kafka"
"""Whom Kafka runs as (agent/service_user.py)."""
PROMETHEUS = "127.0.0.1:9404"
"""Where agents serve their metrics: to what runs on the VM. The port is the one of JMX exporters."""
_USER_ID = 59092
"""The same on all VMs where it is free, so that a disk that goes from one to another need not be given anew."""
_USER_OPTIONS = "--system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin"
MAKE_USER = (
    f"id {SERVICE_USER} >/dev/null 2>&1 || useradd -u {_USER_ID} {_USER_OPTIONS} {SERVICE_USER} || "
    f"useradd {_USER_OPTIONS} {SERVICE_USER}"
)
"""A shell's command that makes it where it is missing."""

SYSCTL_FILE = "/etc/sysctl.d/60-kedge.conf"
_SYSCTL = {
    # A broker maps two areas for each segment (its index and its time index); the kernel's 65530 end at some 30,000.
    "vm.max_map_count": 262144,
    # A heap that is swapped out stops a broker; 0 would have the kernel kill it instead. Kafka's own advice is 1.
    "vm.swappiness": 1,
}


def sysctl_text() -> str:
    """The kernel's settings of a Kedge VM, as a file of `sysctl.d`."""
    return "".join(f"{k}={v}\n" for k, v in sorted(_SYSCTL.items()))


def user_data(
    boot_data: str,
    *,
    kafka_version: str,
    software: Software | None,
    own_disks: Literal["device", "root"] = "device",
    packet_filter: str = "",
    default_route: str = "",
    ssh_keys: Sequence[str] = (),
) -> str:
    """Text of the user data. Pure: the same arguments give the same bytes. JSON is YAML too, which cloud-init reads.

    `packet_filter` is loaded by nft at every boot before anything listens. `own_disks`: where this cloud's VMs have an
    ephemeral disk. `default_route`: an address of the VM's own network, to whose gateway it sends all that nothing else
    leads to; for clouds that give no default route. Who has one of `ssh_keys`, which are public ones, may log in as the
    image's own user. Raises `PlaceUnknown` for a Kafka version that the mirror has not, or a text beyond every cloud's
    limit.
    """
    wanted = _files(boot_data, kafka_version, software, own_disks, filters=bool(packet_filter))
    wanted |= _routes(default_route)
    units = [*([_ROUTE_UNIT] if default_route else []), *([_SOFTWARE_UNIT] if software else []), _AGENT_UNIT]
    config: dict[str, object] = {
        "ssh_pwauth": False,
        "write_files": [{"path": p, "permissions": mode, "content": text} for p, (mode, text) in wanted.items()],
        # No `--now` for both at once: the agent's unit waits for the other one, cloud-init for neither.
        "runcmd": [
            ["sh", "-c", MAKE_USER],
            ["systemctl", "restart", "systemd-sysctl.service"],
            ["systemctl", "daemon-reload"],
            ["systemctl", "enable", *units],
            ["systemctl", "start", "--no-block", *units],
        ],
    }
    if packet_filter:
        config["bootcmd"] = [["nft", packet_filter]]
    if ssh_keys:
        config["ssh_authorized_keys"] = list(ssh_keys)
    text = _HEADER + json.dumps(config, sort_keys=True, separators=(",", ":"))
    if len(text.encode()) > LIMIT_BYTES:
        raise errors.PlaceUnknown(f"user data has {len(text.encode())} bytes, no cloud takes more than {LIMIT_BYTES}")
    return text


def born_with(
    instance: base.InstanceResource,
    software: Software | None,
    *,
    cloud: str = "",
    own_disks: Literal["device", "root"] = "device",
    packet_filter: str = "",
    default_route: str = "",
    ssh_keys: Sequence[str] = (),
) -> str:
    """The user data of an instance as it is rendered. `cloud`: whose machine it is, which says of several agents the
    one for its processor. Raises `PlaceUnknown` where there is none for it, or no such machine."""
    return user_data(
        instance.boot_data,
        kafka_version=instance.image,
        software=_with_its_own(_with_its_agent(software, instance, cloud), instance),
        own_disks=own_disks,
        packet_filter=packet_filter,
        default_route=default_route,
        ssh_keys=ssh_keys,
    )


def _with_its_agent(software: Software | None, instance: base.InstanceResource, cloud: str) -> Software | None:
    if software is None or not isinstance(software.agent, AgentArchives):
        return software
    architecture = catalog_file.machine_of(cloud, instance).architecture
    try:
        return software.on(architecture)
    except LookupError:
        there = " and ".join(software.agent_architectures())
        raise errors.PlaceUnknown(
            f"`software.agent` of {cloud}.yaml has none for {architecture} ({instance.shape}), it is for {there}; "
            f"`kedge agent-bundle --arch {architecture}` writes one"
        ) from None


def _with_its_own(software: Software | None, instance: base.InstanceResource) -> Software | None:
    """The mirror's files, the Kafka archive being that of the revision the VM is made from, where it names one."""
    made = instance.made_from
    if made is None or not made.url:
        return software
    if software is None and not made.revision:
        raise errors.PlaceUnknown(
            "the spec names a build of Kafka of its own, and VMs there fetch nothing when they are made: the settings "
            "of their cloud have no `software` (docs/boot.md)"
        )
    if software is None:
        return None
    archive = Download.model_validate({"url": made.url, "sha256": made.sha256})
    return software.model_copy(update={"kafka": {**software.kafka, instance.image: archive}})


def _files(
    boot_data: str, kafka_version: str, software: Software | None, own_disks: str, *, filters: bool
) -> dict[str, tuple[str, str]]:
    """Path -> (permissions, text)."""
    java, filesystem = (software.java, software.filesystem) if software else ("java", "xfs")
    environment = {
        "KEDGE_AGENT_DISKS": "devices",
        "KEDGE_AGENT_FILESYSTEM": filesystem,
        "KEDGE_AGENT_OWN_DISKS": own_disks,
        "KEDGE_AGENT_PROMETHEUS": PROMETHEUS,
        "KEDGE_AGENT_RUN_AS": SERVICE_USER,
        "KEDGE_JAVA": java,
        "KEDGE_KAFKA_DIR": KAFKA_DIR,
        "PYTHONPATH": f"{AGENT_DIR}/current",
    }
    found = {
        BOOT_FILE: (_PRIVATE, boot_data),
        "/etc/kedge/agent.env": (_READ_ONLY, "".join(f"{k}={v}\n" for k, v in sorted(environment.items()))),
        f"/etc/systemd/system/{_AGENT_UNIT}": (_READ_ONLY, _resource(_AGENT_UNIT)),
        SYSCTL_FILE: (_READ_ONLY, sysctl_text()),
    }
    if software is None:
        return found
    return {
        **found,
        "/etc/kedge/software.json": (_READ_ONLY, _software(software, kafka_version, filters=filters)),
        "/usr/local/lib/kedge/install.py": (_READ_ONLY, _resource("install.py")),
        f"/etc/systemd/system/{_SOFTWARE_UNIT}": (_READ_ONLY, _resource(_SOFTWARE_UNIT)),
        # Files of their own, and nothing of the above is another: what VMs were born with stays what it was.
        **{path: (_READ_ONLY, text) for path, text in install_methods.ways_to_software(software).items()},
    }


def _routes(own_network: str) -> dict[str, tuple[str, str]]:
    if not own_network:
        return {}
    return {
        "/etc/kedge/default-route.env": (_READ_ONLY, f"KEDGE_OWN_NETWORK={own_network}\n"),
        "/usr/local/lib/kedge/default-route.sh": (_READ_ONLY, _resource("default-route.sh")),
        f"/etc/systemd/system/{_ROUTE_UNIT}": (_READ_ONLY, _resource(_ROUTE_UNIT)),
    }


def _software(software: Software, kafka_version: str, *, filters: bool) -> str:
    if kafka_version not in software.kafka:
        there = ", ".join(sorted(software.kafka))
        raise errors.PlaceUnknown(f"`software` has no Kafka {kafka_version}; its mirror has {there}")
    told = {"packages": software.packages(filters=filters), "parts": software.parts(kafka_version)}
    return json.dumps(told, sort_keys=True)


def _resource(name: str) -> str:
    return (files("providers.boot") / name).read_text()
