"""What was changed by hand at Hetzner is found by an audit: the real Terraform, the vendor's provider, our fake."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from providers.hetzner.cloud import HetznerCloud
from providers.tf.state_file import state_file
from tests.fakes.clouds.hetzner import TOKEN, fake_hetzner
from tests.fakes.clouds.hetzner_hands import PLACE, in_place, write_settings
from tests.fakes.resources import UID, address, attachment, binding, instance, resources, surge, volume
from tests.terraform.audits import audited
from tests.terraform.hetznerlife import HetznerBench, hcloud_plugins

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(120)]

BROKER = (instance("b-0"), volume("b-0"), attachment("b-0.g1", "b-0.data.v1"))
CONTROLLER = (
    instance("c-0", zone="c"),
    volume("c-0", "meta", zone="c"),
    attachment("c-0.g1", "c-0.meta.v1"),
    address("c-0", zone="c"),
    binding("c-0", "c-0.g1"),
)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HetznerBench]:
    monkeypatch.setenv("HCLOUD_TOKEN", TOKEN)
    with fake_hetzner() as hetzner:
        settings = write_settings(tmp_path / "hetzner.yaml", hetzner, plugins=hcloud_plugins())
        yield HetznerBench(HetznerCloud("test", settings), hetzner, tmp_path / "states")


def test_an_audit_names_what_was_changed_by_hand_and_finds_nothing_where_nobody_did(bench: HetznerBench) -> None:
    there = in_place(resources(*BROKER, *CONTROLLER))
    bench.execute(surge(there))
    kept = state_file(bench.state_root, UID, PLACE)
    before = kept.read()

    clean = audited(bench, there)
    assert (clean.drifts, clean.resources) == ((), 8)

    project = bench.hetzner.project
    (server,) = (s for s in project.servers.values() if s["labels"].get("kedge-node") == "b-0")
    server["labels"] = {**server["labels"], "team": "payments"}
    (disk,) = (v for v in project.volumes.values() if v["labels"].get("kedge-node") == "b-0")
    disk["size"] = 50
    bench.hetzner.calls.clear()
    found = audited(bench, there)
    assert {(d.target, d.attribute, d.recorded, d.found) for d in found.drifts} == {
        ("instance/b-0.g1", "labels.team", "nothing", '"payments"'),
        ("volume/b-0.data.v1", "size", "10", "50"),
    }
    assert not [call for call in bench.hetzner.calls if not call.startswith("GET ")], "an audit only reads"
    assert kept.read() == before, "the state stays as it is"
    assert not list(kept.folder.directory.glob("audit*")), "no copy of a state is left"
