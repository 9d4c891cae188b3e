"""Hands in a fake Hetzner: what Terraform, the module and fate do there, done by calls for tests without Terraform."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from providers import tags
from providers.base import Place, Resources
from providers.catalog import EPHEMERAL
from providers.errors import RateLimited
from providers.hetzner.cloud import HetznerCloud
from providers.hetzner.tags import DIR, VERSION, ZONE, tags_of
from tests.fakes.clouds.faults import Fault
from tests.fakes.clouds.hetzner import OTHER_TOKEN, TOKEN, FakeHetzner, fake_hetzner
from tests.fakes.clouds.hetzner_objects import Project

REGION, SECOND_REGION = "eu-central", "us-east"
PLACE = Place("hetzner", REGION, "production")
SECOND_PLACE = Place("hetzner", SECOND_REGION, "production")

ZONES = {"a": "fsn1", "b": "hel1", "c": "nbg1"}
"""Zones of a test are locations in the order of their names."""

SMALLEST_GIB = 10


def write_settings(path: Path, hetzner: FakeHetzner, *, groups: int = 2, plugins: Path | None = None) -> Path:
    """A `hetzner.yaml` for networks, groups and images made now; two VMs of a test's cluster would fill no group."""
    file = _file(hetzner, {"production": _account(hetzner.project, groups)}, plugins)
    path.write_text(yaml.safe_dump(file))
    return path


def write_two_accounts(path: Path, hetzner: FakeHetzner) -> Path:
    """The same with a second account, `staging`: another project, by the token in `HCLOUD_TOKEN_STAGING`."""
    second = _account(hetzner.projects[OTHER_TOKEN], 2) | {"token_variable": "HCLOUD_TOKEN_STAGING"}
    file = _file(hetzner, {"production": _account(hetzner.project, 2), "staging": second}, None)
    path.write_text(yaml.safe_dump(file))
    return path


def _account(project: Project, groups: int) -> dict[str, Any]:
    images = {v: {"x86_64": project.make_image(v), "arm64": project.make_image(v, "arm")} for v in ("4.1.1", "4.2.0")}
    regions: dict[str, Any] = {}
    for number, (region, zones) in enumerate({REGION: sorted(ZONES.values()), SECOND_REGION: ["ash-a"]}.items()):
        own, shared = f"10.{2 * number}", f"10.{2 * number + 1}"
        subnets = {zone: f"{own}.{n}.0/24" for n, zone in enumerate(zones)}
        members, nodes = f"{shared}.0.0/24", f"{shared}.1.0/24"
        regions[region] = {
            "network": _network(project, f"kedge-{region}", f"{own}.0.0/16", region, list(subnets.values())),
            "subnets": subnets,
            "node_network": _network(project, f"kedge-{region}-nodes", f"{shared}.0.0/16", region, [members, nodes]),
            "member_range": members,
            "node_range": nodes,
            "placement_groups": [_group(project, f"{region}-{n}") for n in range(groups)],
            "images": images,
        }
    return {"regions": regions}


def _file(hetzner: FakeHetzner, accounts: dict[str, Any], plugins: Path | None) -> dict[str, Any]:
    told = {"plugins": str(plugins)} if plugins is not None else {}
    return {"accounts": accounts, "endpoint_url": hetzner.url, **told}


def in_place(wanted: Resources, place: Place = PLACE) -> Resources:
    """The rendered set of a test, in this cloud's place and zones, with volumes as large as the smallest here."""
    return replace(
        wanted,
        place=place,
        instances=tuple(replace(i, zone=ZONES.get(i.zone, i.zone)) for i in wanted.instances),
        volumes=tuple(
            replace(v, zone=ZONES.get(v.zone, v.zone), size_gib=max(v.size_gib, SMALLEST_GIB)) for v in wanted.volumes
        ),
        addresses=tuple(replace(a, zone=ZONES.get(a.zone, a.zone)) for a in wanted.addresses),
    )


@dataclass
class HetznerHarness:
    """See the harness of tests/contract/test_cloud_provider.py. Zones `a`, `b`, `c` of a test are locations."""

    cloud: HetznerCloud
    hetzner: FakeHetzner
    place: Place = PLACE
    second: Place = SECOND_PLACE
    token: str = TOKEN

    @property
    def project(self) -> Project:
        """Where these hands work."""
        return self.hetzner.projects[self.token]

    def zone(self, letter: str) -> str:
        return ZONES[letter]

    def id_of(self, key: str, uid: str = "") -> str:
        """The newest server of that key, of that cluster where one is named; a test's own look, which no fault or lag
        changes."""
        found = [number for number, server in self.project.servers.items() if _is(server, key, uid)]
        return str(found[-1])

    def here(self, wanted: Resources) -> Resources:
        return in_place(wanted, self.place)

    def create(self, wanted: Resources, *only: str) -> None:
        made: dict[str, Any] = self.cloud.variables(self.here(wanted))
        cloud = made["cloud"]
        owner = {k.removeprefix("label_"): v for k, v in cloud.items() if k.startswith("label_")}
        for key, v in made["volumes"].items():
            if _meant(f"volume/{key}", only) and v["kind"] != EPHEMERAL:
                parts = {tags.NODE: v["node"], DIR: v["dir"], VERSION: str(v["version"]), ZONE: v["zone"]}
                self._do(
                    "POST",
                    "volumes",
                    name=f"{wanted.cluster_uid}-{key}",
                    size=v["size_gib"],
                    location=v["zone"],
                    labels=owner | parts,
                )
        for key, i in made["instances"].items():
            if _meant(f"instance/{key}", only):
                self._server(f"{wanted.cluster_uid}-{key}", i, cloud, member=i["node"] not in made["addresses"])
        for key, t in made["attachments"].items():
            if _meant(f"attachment/{key}", only) and made["volumes"][t["volume"]]["kind"] != EPHEMERAL:
                volume = self._volume(t["volume"], wanted.cluster_uid)
                self._do(
                    "POST",
                    f"volumes/{volume}/actions/attach",
                    server=int(self.id_of(t["instance"], wanted.cluster_uid)),
                )
        for key, b in made["bindings"].items():
            if _meant(f"binding/{key}", only):
                self._enter(
                    self.id_of(b["instance"], wanted.cluster_uid),
                    cloud["node_network"],
                    cloud["node_range"],
                    made["addresses"][b["node"]]["address"],
                )

    def delete(self, wanted: Resources, *only: str) -> None:
        made: dict[str, Any] = self.cloud.variables(self.here(wanted))
        for key, b in made["bindings"].items():
            if _meant(f"binding/{key}", only):
                server = self.id_of(b["instance"], wanted.cluster_uid)
                leave = f"servers/{server}/actions/detach_from_network"
                self._do("POST", leave, network=int(made["cloud"]["node_network"]))
        for key, t in made["attachments"].items():
            if _meant(f"attachment/{key}", only) and made["volumes"][t["volume"]]["kind"] != EPHEMERAL:
                self._do("POST", f"volumes/{self._volume(t['volume'], wanted.cluster_uid)}/actions/detach")
        for key in made["instances"]:
            there = any(_is(server, key, wanted.cluster_uid) for server in self.project.servers.values())
            if not (_meant(f"instance/{key}", only) and there):
                continue
            if self.hetzner.ignored_terminations:
                self.hetzner.ignored_terminations -= 1
            else:
                self._do("DELETE", f"servers/{self.id_of(key, wanted.cluster_uid)}")

    def discard(self, wanted: Resources, target: str) -> None:
        """Deletes a volume, which outlives VMs; a node's address is a name, and nothing is done."""
        word, _, key = target.partition("/")
        if word == "volume":
            self._do("DELETE", f"volumes/{self._volume(key, wanted.cluster_uid)}")

    def power_cut(self, vm_id: str) -> None:
        """Hetzner deletes no server by itself: somebody did, in the console."""
        self.project.delete_server(int(vm_id))

    def fail_once(self, error: type[Exception]) -> None:
        limited = error is RateLimited
        code, status = ("rate_limit_exceeded", 429) if limited else ("server_error", 500)
        self.hetzner.faults.append(Fault("*", code, status))

    def lag(self, listings: int) -> None:
        self.hetzner.faults.lag = listings

    def ignore_one_destroy(self) -> None:
        self.hetzner.ignored_terminations = 1

    def other_installation(self) -> "HetznerHarness":
        return replace(self, cloud=HetznerCloud("other", self.cloud.settings_file, attempts=1))

    def _server(self, name: str, wanted: dict[str, Any], cloud: dict[str, str], *, member: bool) -> None:
        group = cloud.get(f"placement_group_{wanted['node']}.g{wanted['generation']}")
        made = self._do(
            "POST",
            "servers",
            name=name.replace(".", "-"),
            server_type=wanted["shape"],
            image=wanted["image"],
            location=wanted["zone"].split("-")[0],
            labels=wanted["tags"],
            user_data=wanted["boot_data"],
            placement_group=int(group) if group else None,
            public_net={"enable_ipv4": bool(wanted.get("public_address")), "enable_ipv6": bool(wanted.get("ipv6"))},
            start_after_create=False,
        )["server"]["id"]
        self._enter(made, cloud["network"], cloud[f"subnet_{wanted['zone']}"])
        if member:
            self._enter(made, cloud["node_network"], cloud["member_range"])
        self._do("POST", f"servers/{made}/actions/poweron")

    def _enter(self, server: object, network: str, ip_range: str, address: str | None = None) -> None:
        body = {"network": int(network), "ip_range": ip_range} | ({"ip": address} if address else {})
        self._do("POST", f"servers/{server}/actions/attach_to_network", **body)

    def _volume(self, key: str, uid: str) -> int:
        for number, volume in self.project.volumes.items():
            own = tags_of(volume["labels"])
            if (f"{own[tags.NODE]}.{own[DIR]}.v{own[VERSION]}", own[tags.CLUSTER_UID]) == (key, uid):
                return number
        raise AssertionError(f"no volume {key}")

    def _do(self, method: str, path: str, **body: Any) -> dict[str, Any]:
        return self.project.act(method, path.split("/"), {}, body)[1] or {}


@contextmanager
def hetzner_harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HetznerHarness]:
    """One of its own, whose calls are tried once."""
    monkeypatch.setenv("HCLOUD_TOKEN", TOKEN)
    with fake_hetzner() as hetzner:
        yield HetznerHarness(
            HetznerCloud("test", write_settings(tmp_path / "hetzner.yaml", hetzner), attempts=1), hetzner
        )


@contextmanager
def hetzner_accounts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[HetznerHarness, HetznerHarness]]:
    """Hands in two accounts of one installation."""
    monkeypatch.setenv("HCLOUD_TOKEN", TOKEN)
    monkeypatch.setenv("HCLOUD_TOKEN_STAGING", OTHER_TOKEN)
    with fake_hetzner() as hetzner:
        cloud = HetznerCloud("test", write_two_accounts(tmp_path / "hetzner.yaml", hetzner), attempts=1)
        staging = Place("hetzner", REGION, "staging")
        yield HetznerHarness(cloud, hetzner), HetznerHarness(cloud, hetzner, staging, staging, OTHER_TOKEN)


def _network(project: Project, name: str, whole: str, zone: str, ranges: list[str]) -> int:
    subnets = [{"type": "cloud", "network_zone": zone, "ip_range": one} for one in ranges]
    told = project.act("POST", ["networks"], {}, {"name": name, "ip_range": whole, "subnets": subnets})[1] or {}
    return int(told["network"]["id"])


def _group(project: Project, name: str) -> int:
    told = project.act("POST", ["placement_groups"], {}, {"name": name, "type": "spread"})[1] or {}
    return int(told["placement_group"]["id"])


def _meant(target: str, only: tuple[str, ...]) -> bool:
    return not only or target in only


def _is(server: dict[str, Any], key: str, uid: str) -> bool:
    own = tags_of(server["labels"])
    return f"{own.get(tags.NODE)}.g{own.get(tags.GENERATION)}" == key and uid in ("", own.get(tags.CLUSTER_UID))
