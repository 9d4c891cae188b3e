"""Hands in a fake AWS: what Terraform, the module and fate do there, done through boto3 for tests without Terraform."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from moto.backends import get_backend

from providers import tags
from providers.aws.cloud import AwsCloud
from providers.aws.tags import VOLUME
from providers.base import Place, Resources
from providers.catalog import EPHEMERAL
from providers.errors import RateLimited
from tests.fakes.clouds.aws import ACCOUNT, MotoCloud, moto_cloud
from tests.fakes.clouds.faults import Fault
from tests.fakes.clouds.moto_patches import mount, unmount
from tests.fakes.resources import UID

REGION, SECOND_REGION = "eu-west-1", "eu-central-1"
PLACE = Place("aws", REGION, "production")
SECOND_PLACE = Place("aws", SECOND_REGION, "production")


def write_settings(path: Path, aws: MotoCloud, *, account_id: str = ACCOUNT, plugins: Path | None = None) -> Path:
    """An `aws.yaml` for the subnets and the security group that moto has in every region, and an image made now."""
    regions: dict[str, Any] = {}
    for region in (REGION, SECOND_REGION):
        ec2 = aws.client(region)
        image = ec2.register_image(Name="kedge", RootDeviceName="/dev/xvda", Architecture="arm64")["ImageId"]
        # moto forgets the processor an image is registered for; EC2 tells it.
        get_backend("ec2")[aws.account][region].amis[image].architecture = "arm64"
        regions[region] = {
            "subnets": {s["AvailabilityZone"]: s["SubnetId"] for s in ec2.describe_subnets()["Subnets"]},
            "security_groups": [g["GroupId"] for g in ec2.describe_security_groups()["SecurityGroups"]],
            "images": {version: {"arm64": image} for version in ("4.1.1", "4.2.0")},
        }
    file: dict[str, Any] = {
        "accounts": {"production": {"id": account_id, "regions": regions}},
        "endpoint_url": aws.url,
    }
    if plugins is not None:
        file["plugins"] = str(plugins)
    path.write_text(yaml.safe_dump(file))
    return path


@dataclass
class AwsHarness:
    """See the harness of tests/contract/test_cloud_provider.py. Zones `a`, `b`, `c` of a test are those of `REGION`."""

    cloud: AwsCloud
    aws: MotoCloud
    place: Place = PLACE
    second: Place = SECOND_PLACE

    def zone(self, letter: str) -> str:
        return REGION + letter

    def id_of(self, key: str, uid: str = "") -> str:
        """The newest instance of that key, of that cluster where one is named; a test's own look, which no fault or lag
        changes."""
        kept = self._kept
        made = (i.id for r in reversed(kept.reservations.values()) for i in r.instances)
        return next(str(i) for i in made if _is(kept.tags[i], key, uid))

    def here(self, wanted: Resources) -> Resources:
        """The rendered set of a test, in this cloud's place and zones."""
        return replace(
            wanted,
            place=self.place,
            instances=tuple(replace(i, zone=self.zone(i.zone)) for i in wanted.instances),
            volumes=tuple(replace(v, zone=self.zone(v.zone)) for v in wanted.volumes),
            addresses=tuple(replace(a, zone=self.zone(a.zone)) for a in wanted.addresses),
        )

    def create(self, wanted: Resources, *only: str) -> None:
        made: dict[str, Any] = self.cloud.variables(self.here(wanted))
        owner = {tags.INSTALLATION: made["installation_id"], tags.CLUSTER_UID: made["cluster_uid"]}
        for key, a in made["addresses"].items():
            if _meant(f"address/{key}", only):
                self._ec2.create_network_interface(
                    SubnetId=made["cloud"][f"subnet_{a['zone']}"],
                    TagSpecifications=_tagged("network-interface", owner | {tags.NODE: key}),
                )
        for key, v in made["volumes"].items():
            if _meant(f"volume/{key}", only) and v["kind"] != EPHEMERAL:
                self._ec2.create_volume(
                    AvailabilityZone=v["zone"],
                    Size=v["size_gib"],
                    VolumeType="gp3",
                    TagSpecifications=_tagged("volume", owner | {VOLUME: key, tags.NODE: v["node"]}),
                )
        for key, i in made["instances"].items():
            if _meant(f"instance/{key}", only):
                self._ec2.run_instances(
                    ImageId=i["image"],
                    InstanceType=i["shape"],
                    MinCount=1,
                    MaxCount=1,
                    NetworkInterfaces=[_interface_of(i, made["cloud"])],
                    TagSpecifications=_tagged("instance", i["tags"]),
                    **({"InstanceMarketOptions": {"MarketType": "spot"}} if i.get("spot") else {}),
                )
        for key, t in made["attachments"].items():
            if _meant(f"attachment/{key}", only) and made["volumes"][t["volume"]]["kind"] != EPHEMERAL:
                self._ec2.attach_volume(
                    VolumeId=self._volume(t["volume"], wanted.cluster_uid),
                    InstanceId=self.id_of(t["instance"], wanted.cluster_uid),
                    Device=_device(made["attachments"], key),
                )
        for key, b in made["bindings"].items():
            if _meant(f"binding/{key}", only):
                self._ec2.attach_network_interface(
                    NetworkInterfaceId=self._interface(b["node"], wanted.cluster_uid).id,
                    InstanceId=self.id_of(b["instance"], wanted.cluster_uid),
                    DeviceIndex=1,
                )

    def delete(self, wanted: Resources, *only: str) -> None:
        made: dict[str, Any] = self.cloud.variables(self.here(wanted))
        for key, b in made["bindings"].items():
            if _meant(f"binding/{key}", only):
                attached = self._interface(b["node"], wanted.cluster_uid).attachment
                self._ec2.detach_network_interface(AttachmentId=attached.attachment_id)
        for key, t in made["attachments"].items():
            if _meant(f"attachment/{key}", only) and made["volumes"][t["volume"]]["kind"] != EPHEMERAL:
                self._ec2.detach_volume(
                    VolumeId=self._volume(t["volume"], wanted.cluster_uid),
                    InstanceId=self.id_of(t["instance"], wanted.cluster_uid),
                )
        for key in made["instances"]:
            if _meant(f"instance/{key}", only):
                self._ec2.terminate_instances(InstanceIds=[self.id_of(key, wanted.cluster_uid)])

    def discard(self, wanted: Resources, target: str) -> None:
        """Deletes a volume or a node's address: what outlives VMs."""
        word, _, key = target.partition("/")
        if word == "volume":
            self._ec2.delete_volume(VolumeId=self._volume(key, wanted.cluster_uid))
        else:
            self._ec2.delete_network_interface(NetworkInterfaceId=self._interface(key, wanted.cluster_uid).id)

    def mount(self, key: str, uid: str = UID) -> None:
        """The guest of the VM a volume is on mounts it."""
        mount(self._kept.volumes[self._volume(key, uid)])

    def unmount(self, key: str, uid: str = UID) -> None:
        """Its agent lets go of it."""
        unmount(self._kept.volumes[self._volume(key, uid)])

    def power_cut(self, vm_id: str) -> None:
        """What AWS does to a VM whose host died."""
        self._ec2.terminate_instances(InstanceIds=[vm_id])

    def fail_once(self, error: type[Exception]) -> None:
        limited = error is RateLimited
        code, status = ("RequestLimitExceeded", 503) if limited else ("InternalError", 500)
        self.aws.faults.append(Fault("*", code, status))

    def lag(self, listings: int) -> None:
        self.aws.faults.lag = listings

    def ignore_one_destroy(self) -> None:
        self.aws.ignored_terminations = 1

    def other_installation(self) -> "AwsHarness":
        return replace(self, cloud=AwsCloud("other", self.cloud.settings_file, attempts=1))

    @property
    def _ec2(self) -> Any:
        return self.aws.client(self.place.region)

    @property
    def _kept(self) -> Any:
        """What moto has in memory: looked at there, as listings of all that was ever made are what takes long."""
        return get_backend("ec2")[self.aws.account][self.place.region]

    def _volume(self, key: str, uid: str) -> str:
        own = {VOLUME: key, tags.CLUSTER_UID: uid}
        return next(str(v) for v in self._kept.volumes if own.items() <= self._kept.tags[v].items())

    def _interface(self, node: str, uid: str) -> Any:
        own = {tags.NODE: node, tags.CLUSTER_UID: uid}
        return next(e for e in self._kept.enis.values() if own.items() <= self._kept.tags[e.id].items())


@contextmanager
def aws_harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsHarness]:
    """An empty account and its hands, whose calls are tried once."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with moto_cloud() as aws:
        yield AwsHarness(AwsCloud("test", write_settings(tmp_path / "aws.yaml", aws), attempts=1), aws)


def _meant(target: str, only: tuple[str, ...]) -> bool:
    return not only or target in only


def _device(attachments: Mapping[str, Any], key: str) -> str:
    """As the module names them: the place of the attachment among those of its VM."""
    of_vm = sorted(k for k, t in attachments.items() if t["instance"] == attachments[key]["instance"])
    return f"/dev/sd{'fghijklmnop'[of_vm.index(key)]}"


def _interface_of(instance: Mapping[str, Any], cloud: Mapping[str, str]) -> dict[str, Any]:
    """What Terraform's provider asks for, whether a VM gets a public IPv4 address or none."""
    ipv6 = {"Ipv6AddressCount": 1} if instance.get("ipv6") else {}
    subnet = cloud[f"subnet_{instance['zone']}"]
    return {
        "DeviceIndex": 0,
        "SubnetId": subnet,
        "AssociatePublicIpAddress": bool(instance.get("public_address")),
        **ipv6,
    }


def _tagged(kind: str, given: dict[str, str]) -> list[dict[str, Any]]:
    return [{"ResourceType": kind, "Tags": [{"Key": k, "Value": v} for k, v in given.items()]}]


def _is(own: Mapping[str, str], key: str, uid: str) -> bool:
    return f"{own.get(tags.NODE)}.g{own.get(tags.GENERATION)}" == key and uid in ("", own.get(tags.CLUSTER_UID))
