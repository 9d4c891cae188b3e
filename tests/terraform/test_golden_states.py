"""States written by every released version of a module plan empty under today's: an upgrade of Kedge changes no VM.

Where a resource was renamed a `moved` block has to say so; else its state would plan a delete and a create, which the
guard refuses, and the cluster could not be touched any more.
"""

import json
import re
from pathlib import Path

import pytest

from providers.tf.state_body import addresses_in
from providers.tf.state_file import state_file
from tests.fakes.clouds.hetzner import TOKEN
from tests.fakes.clouds.hetzner_hands import PLACE as HETZNER_PLACE
from tests.fakes.resources import PLACE as LOCAL_PLACE, UID, surge
from tests.terraform.audits import audited
from tests.terraform.golden import (
    FOLDER,
    PARTS,
    golden_files,
    hetzner_bench,
    hetzner_set,
    local_bench,
    local_set,
    objects_of,
    put_objects,
    put_state,
)
from tests.terraform.goldenaws import golden_bench, put_back, rendered
from tests.terraform.goldenstandins import STAND_INS, WORDS

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(120)]

KEYS_OF_A_VM = "/home/kedge/.ssh/authorized_keys"
"""Azure has to be told where; it is on the VM."""

FIRST_OF_AN_ID = {"subscriptions"}
"""An id of Azure looks like a path."""

FOLDERS_OF_A_VM = {"bin", "dev", "etc", "opt", "usr", "var"}
"""All that boot data names; a folder of another name is one of the machine the files were written on."""


def named(path: Path) -> str:
    return path.name.removesuffix(".tfstate.json")


def state_ids(state: Path) -> set[str]:
    """The cloud's ids of all that a state holds."""
    resources = json.loads(state.read_text())["resources"]
    return {str(i["attributes"]["id"]) for r in resources for i in r["instances"]}


@pytest.mark.parametrize("golden", golden_files("local"), ids=named)
def test_a_local_state_of_an_earlier_release_plans_empty(
    golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEDGE_LOCAL_CLAIMS", str(tmp_path / "claims"))
    with local_bench(tmp_path) as bench:
        put_state(bench.state_root, LOCAL_PLACE, golden)
        again = bench.execute(surge(local_set(), only=frozenset()))
        assert again.changed == ()
        assert state_file(bench.state_root, UID, LOCAL_PLACE).read() == golden.read_bytes()


@pytest.mark.parametrize("golden", golden_files("hetzner"), ids=named)
def test_a_hetzner_state_of_an_earlier_release_plans_empty(
    golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HCLOUD_TOKEN", TOKEN)
    with hetzner_bench(tmp_path) as bench:
        put_objects(bench.hetzner, objects_of(golden))
        put_state(bench.state_root, HETZNER_PLACE, golden)
        bench.hetzner.calls.clear()
        again = bench.execute(surge(hetzner_set(), only=frozenset()))
        assert again.changed == ()
        assert audited(bench, hetzner_set()).drifts == (), "the fake holds what the state says"
        assert not [call for call in bench.hetzner.calls if not call.startswith("GET ")]


@pytest.mark.parametrize("cloud", sorted(STAND_INS))
def test_a_state_written_with_a_stand_in_by_an_earlier_release_plans_empty(cloud: str, tmp_path: Path) -> None:
    stand_in = STAND_INS[cloud]
    for number, golden in enumerate(golden_files(cloud)):
        folder = tmp_path / str(number)
        folder.mkdir()
        with stand_in.bench(folder) as bench:
            stand_in.put(bench, objects_of(golden))
            put_state(bench.state_root, bench.place, golden)
            wanted = stand_in.rendered(bench, PARTS)
            again = bench.execute(surge(wanted, only=frozenset()))
            assert again.changed == (), golden
            found = {d.attribute for d in audited(bench, wanted).drifts}
            assert found <= stand_in.fills, "the fake holds what the state says"
    assert golden_files(cloud), f"there is no state of {cloud}"


@pytest.mark.soak
@pytest.mark.parametrize("golden", golden_files("aws"), ids=named)
def test_an_aws_state_of_an_earlier_release_plans_empty(golden: Path, tmp_path: Path) -> None:
    """What moto held is made again; the state is the one of the release, but for the ids moto gives anew."""
    with golden_bench(tmp_path) as bench:
        renamed = tmp_path / golden.name
        renamed.write_text(put_back(bench, objects_of(golden), golden.read_text()))
        put_state(bench.state_root, bench.place, renamed)
        wanted = rendered(bench, PARTS)
        before = bench.aws.calls.copy()
        again = bench.execute(surge(wanted, only=frozenset()))
        assert again.changed == ()
        assert audited(bench, wanted).drifts == (), "moto holds what the state says"
        assert not [call for call in bench.aws.calls - before if not call.startswith(("Describe", "Get"))]
        left = {key for key in state_ids(golden) if key.startswith(("i-", "vol-", "eni-"))}
        assert len(left) >= 6
        assert not left & state_ids(renamed), "every id is one of this moto"


def test_every_golden_state_holds_one_of_each_and_nothing_of_the_machine_it_was_written_on() -> None:
    files = sorted(FOLDER.glob("*/*.json"))
    assert {path.parent.name for path in files} == {"local", "hetzner", "aws", *STAND_INS}
    for path in files:
        text = path.read_text().replace(KEYS_OF_A_VM, "")
        for foreign in ("/tmp/", "/home/", "/root/", f"{Path.cwd()}/", TOKEN):
            assert foreign not in text, path
        assert set(re.findall(r"(?<![\w./:-])/([a-z]+)/", text)) <= FOLDERS_OF_A_VM | FIRST_OF_AN_ID, path
        if path.name.endswith(".tfstate.json"):
            words = {
                address.split("[")[0].rpartition(".")[2].partition("_")[0] for address in addresses_in(text.encode())
            }
            stand_in = STAND_INS.get(path.parent.name)
            made = stand_in.words if stand_in is not None else WORDS
            assert words == made, path
