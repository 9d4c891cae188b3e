"""Hands in a fake Google Cloud: what Terraform, the module and fate do there, for tests without Terraform."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from providers import tags
from providers.base import Place, Resources
from providers.catalog import EPHEMERAL
from providers.errors import RateLimited
from providers.google.cloud import GoogleCloud
from providers.google.tags import DIR, REGION, VERSION, decoded
from tests.fakes.clouds.faults import Fault
from tests.fakes.clouds.google import GoogleFake, google_fake
from tests.fakes.clouds.google_names import name_of
from tests.fakes.clouds.google_world import NUMBER, PROJECT, Thing, World

HOME, SECOND = "europe-west1", "europe-west4"
PLACE = Place("google", HOME, "production")
SECOND_PLACE = Place("google", SECOND, "production")
LETTERS = {"a": "b", "b": "c", "c": "d"}
"""Zones of a test, as Google's: europe-west1 has b, c and d."""


def write_settings(
    path: Path, google: GoogleFake, *, number: str = NUMBER, project: str = PROJECT, plugins: Path | None = None
) -> Path:
    """A `google.yaml` for the fake, and beside it a service account whose tokens the fake gives out."""
    key = path.with_name("service-account.json")
    key.write_text(json.dumps(service_account(google.url)))
    regions = {
        region: {
            "subnetworks": {
                f"{region}-{letter}": f"projects/{project}/regions/{region}/subnetworks/kedge"
                for letter in LETTERS.values()
            },
            "network_tags": ["kedge-kafka"],
            "images": {v: {"x86_64": f"projects/{project}/global/images/kafka-1"} for v in ("4.1.1", "4.2.0")},
        }
        for region in (HOME, SECOND)
    }
    account = {"project": project, "number": number, "service_account_file": str(key), "regions": regions}
    file: dict[str, Any] = {"accounts": {"production": account}, "endpoint_url": google.url}
    if plugins is not None:
        file["plugins"] = str(plugins)
    path.write_text(yaml.safe_dump(file))
    return path


def service_account(url: str) -> dict[str, str]:
    """What a key file of Google's holds."""
    return {
        "type": "service_account",
        "client_email": "kedge@kedge-test-1.iam.gserviceaccount.com",
        "private_key": _private_key(),
        "token_uri": f"{url}/token",
    }


@contextmanager
def google_harness(tmp_path: Path, monkeypatch: Any) -> Iterator["GoogleHarness"]:
    """See `HARNESSES` of tests/contract/test_cloud_provider.py."""
    with google_fake() as google:
        yield GoogleHarness(GoogleCloud("test", write_settings(tmp_path / "google.yaml", google), attempts=1), google)


@dataclass
class GoogleHarness:
    """See the harness of tests/contract/test_cloud_provider.py."""

    cloud: GoogleCloud
    google: GoogleFake
    place: Place = PLACE
    second: Place = SECOND_PLACE

    @property
    def world(self) -> World:
        return self.google.world

    def zone(self, letter: str) -> str:
        return f"{HOME}-{LETTERS[letter]}"

    def id_of(self, key: str, uid: str = "") -> str:
        """Of that cluster where one is named; a test's own look, which no fault or lag changes."""
        found = self.machine(key, uid)
        return f"{found['zone'].rpartition('/')[2]}/{found['name']}/{found['id']}"

    def machine(self, key: str, uid: str = "") -> Thing:
        """The VM of that key as the project has it, of that cluster where one is named."""
        told = [(m, decoded(m.get("labels", {}))) for m in self.world.of("instances")]
        told = [(m, t) for m, t in told if uid in ("", t.get(tags.CLUSTER_UID))]
        return next(m for m, t in told if f"{t.get(tags.NODE)}.g{t.get(tags.GENERATION)}" == key)

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
        owner = {
            tags.INSTALLATION: made["installation_id"],
            tags.CLUSTER_UID: made["cluster_uid"],
            REGION: made["region"],
        }
        for key, a in made["addresses"].items():
            if _meant(f"address/{key}", only):
                body = {
                    "name": self._name(made, "address", key),
                    "addressType": "INTERNAL",
                    "purpose": "GCE_ENDPOINT",
                    "subnetwork": made["cloud"][f"subnetwork_{a['zone']}"],
                    "description": f"kedge {made['installation_id']} {made['cluster_uid']} {key}",
                }
                self.world.insert(f"regions/{self.place.region}", "addresses", body)
        for key, v in made["volumes"].items():
            if _meant(f"volume/{key}", only) and v["kind"] != EPHEMERAL:
                own = {tags.NODE: v["node"], DIR: v["dir"], VERSION: str(v["version"])}
                body = {"name": self._name(made, "volume", key), "sizeGb": v["size_gib"], "labels": owner | own}
                self.world.insert(f"zones/{v['zone']}", "disks", body)
        for key, i in made["instances"].items():
            if _meant(f"instance/{key}", only):
                self.world.insert(f"zones/{i['zone']}", "instances", self._machine_body(made, key, i))
        for key, t in made["attachments"].items():
            if _meant(f"attachment/{key}", only) and made["volumes"][t["volume"]]["kind"] != EPHEMERAL:
                self.world.attach(
                    self._path_of(t["instance"], wanted.cluster_uid),
                    {"source": self._disk(made, t["volume"]), "deviceName": key},
                )

    def delete(self, wanted: Resources, *only: str) -> None:
        made: dict[str, Any] = self.cloud.variables(self.here(wanted))
        for key, t in made["attachments"].items():
            if _meant(f"attachment/{key}", only) and made["volumes"][t["volume"]]["kind"] != EPHEMERAL:
                self.world.detach(self._path_of(t["instance"], wanted.cluster_uid), key)
        for key, i in made["instances"].items():
            if not _meant(f"instance/{key}", only):
                continue
            if self.google.ignored_deletions > 0:
                self.google.ignored_deletions -= 1
                continue
            path = f"projects/{PROJECT}/zones/{i['zone']}/instances/{self._name(made, 'instance', key)}"
            if path in self.world.things:
                self.world.delete(path)

    def discard(self, wanted: Resources, target: str) -> None:
        """Deletes a volume or a node's address: what outlives VMs."""
        made: dict[str, Any] = self.cloud.variables(self.here(wanted))
        word, _, key = target.partition("/")
        name = self._name(made, "address", key)
        region = f"projects/{PROJECT}/regions/{self.place.region}"
        self.world.delete(self._disk(made, key) if word == "volume" else f"{region}/addresses/{name}")

    def power_cut(self, vm_id: str) -> None:
        """A VM that is gone without anybody of ours having deleted it."""
        zone, name, _ = vm_id.split("/")
        self.world.delete(f"projects/{PROJECT}/zones/{zone}/instances/{name}")

    def fail_once(self, error: type[Exception]) -> None:
        limited = error is RateLimited
        code, status = ("rateLimitExceeded", 403) if limited else ("backendError", 503)
        self.google.faults.append(Fault("*", code, status))

    def lag(self, listings: int) -> None:
        self.google.faults.lag = listings

    def ignore_one_destroy(self) -> None:
        self.google.ignored_deletions = 1

    def other_installation(self) -> "GoogleHarness":
        return replace(self, cloud=GoogleCloud("other", self.cloud.settings_file, attempts=1))

    def _machine_body(self, made: dict[str, Any], key: str, i: dict[str, Any]) -> Thing:
        nic: Thing = {"subnetwork": made["cloud"][f"subnetwork_{i['zone']}"]}
        if key in made["bindings"]:
            node = made["bindings"][key]["node"]
            path = f"projects/{PROJECT}/regions/{self.place.region}/addresses/{self._name(made, 'address', node)}"
            nic["networkIP"] = self.world.things[path]["address"]
        if i.get("ipv6"):
            nic |= {"stackType": "IPV4_IPV6", "ipv6AccessConfigs": [{"type": "DIRECT_IPV6", "networkTier": "PREMIUM"}]}
        if i.get("public_address"):
            nic["accessConfigs"] = [{"type": "ONE_TO_ONE_NAT", "networkTier": "PREMIUM"}]
        boot = {"boot": True, "autoDelete": True, "initializeParams": {"sourceImage": i["image"], "diskSizeGb": "10"}}
        return {
            "name": self._name(made, "instance", key),
            "machineType": f"zones/{i['zone']}/machineTypes/{i['shape']}",
            "labels": i["tags"],
            "tags": {"items": made["cloud"]["network_tags"].split()},
            "metadata": {"items": [{"key": "user-data", "value": i["boot_data"]}]},
            "disks": [boot],
            "networkInterfaces": [nic],
            **({"scheduling": {"provisioningModel": "SPOT", "preemptible": True}} if i.get("spot") else {}),
        }

    def _path_of(self, key: str, uid: str) -> str:
        link = self.machine(key, uid)["selfLink"]
        return str(link[link.index("projects/") :])

    def _disk(self, made: dict[str, Any], key: str) -> str:
        zone = made["volumes"][key]["zone"]
        return f"projects/{PROJECT}/zones/{zone}/disks/{self._name(made, 'volume', key)}"

    def _name(self, made: dict[str, Any], kind: str, key: str) -> str:
        return name_of(made["installation_id"], made["cluster_uid"], made["cluster_name"], kind, key)


def _meant(target: str, only: tuple[str, ...]) -> bool:
    return not only or target in only


@cache
def _private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
