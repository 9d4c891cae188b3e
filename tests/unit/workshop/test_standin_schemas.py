"""What the stand-ins know of vendors' providers: taken out of generated sources as it stands there, well formed."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.standins.document import SCHEMAS, document_of
from tests.standins.extract import Package, compact, provider, resource
from tests.standins.mirror import HOST, mirrored, pinned

CLOUDS = sorted(path.stem for path in SCHEMAS.glob("*.json"))
TYPE = re.compile(r"(string|number|bool)|(list|set|map)\((string|number|bool)\)")

SOURCE = """
export interface ThingConfig {}
export function thingPartToHclTerraform(struct?: any): any {
  const attrs = {
    size: {
      value: cdktf.numberToHclTerraform(struct!.size),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
  }
}
export class ThingPartOutputReference extends cdktf.ComplexObject {
  // size - computed: false, optional: false, required: true
  private _size?: number;
  public get size() {
    return this.getNumberAttribute('size');
  }
  // serial - computed: true, optional: false, required: false
  public get serial() {
    return this.getStringAttribute('serial');
  }
}
export class Thing extends cdktf.TerraformResource {
  public constructor() {
    super(scope, id, {
        providerVersion: '1.2.3',
    });
  }
  // ==========
  // ATTRIBUTES
  // ==========

  // id - computed: true, optional: true, required: false
  private _id?: string;
  public get id() {
    return this.getStringAttribute('id');
  }
  // effective - computed: true, optional: false, required: false
  private _effective = new cdktf.StringMap(this, "effective");
  // tags - computed: false, optional: true, required: false
  private _tags?: string[];
  public get tags() {
    return cdktf.Fn.tolist(this.getListAttribute('tags'));
  }
  // kept - computed: false, optional: true, required: false
  private _kept?: boolean | cdktf.IResolvable;
  // history - computed: true, optional: false, required: false
  private _history = new ThingHistoryList(this, "history", false);
  // part - computed: false, optional: false, required: true
  private _part = new ThingPartOutputReference(this, "part");
  // =========
  // SYNTHESIS
  // =========
  protected synthesizeHclAttributes(): { [name: string]: any } {
    const attrs = {
      id: {
        value: cdktf.stringToHclTerraform(this._id),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      part: {
        value: thingPartToHclTerraform(this._part.internalValue),
        isBlock: true,
        type: "list",
        storageClassType: "ThingPartList",
      },
    };
  }
}
"""


class Generated:
    """A package of one resource, generated for that library."""

    def __init__(self, library: str) -> None:
        self._source = SOURCE.replace("cdktf.", f"{library}.")

    def source(self, folder: str) -> str:
        configured = self._source.replace("TerraformResource", "TerraformProvider")
        configured = configured.replace('_part = new ThingPartOutputReference(this, "part");', "_part?: ThingPart[];")
        return {"thing": self._source, "provider": configured}[folder]


@pytest.fixture(params=["cdktf", "cdktn"])
def generated(request: pytest.FixtureRequest) -> Package:
    return cast(Package, Generated(request.param))


def blocks(told: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield told
    for nested in told.get("blocks", {}).values():
        yield from blocks(nested)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_document_says_where_it_is_from_and_is_well_formed(cloud: str) -> None:
    document = document_of(cloud)
    assert document.source
    for block in [b for told in [document.provider, *document.resources.values()] for b in blocks(dict(told))]:
        assert block.get("nesting", "list") in ("list", "set", "single")
        for name, (kind, *modes) in block["attributes"].items():
            assert TYPE.fullmatch(kind), name
            assert set(modes) <= {"required", "optional", "computed"}, name
            assert modes, name
            assert ("required" in modes) is (modes == ["required"]), name


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_document_is_of_the_very_release_that_the_modules_pin(cloud: str) -> None:
    assert document_of(cloud).source["provider"] == pinned(cloud)[1] == pinned(f"{cloud}-network")[1]


def test_a_resource_is_taken_out_with_its_types_and_blocks(generated: Package) -> None:
    told, version = resource(generated, "cloud_thing")
    assert version == "1.2.3"
    assert told == {
        "attributes": {
            "effective": ["map(string)", "computed"],
            "id": ["string", "optional", "computed"],
            "kept": ["bool", "optional"],
            "tags": ["set(string)", "optional"],
        },
        "blocks": {
            "part": {
                "nesting": "list",
                "max_items": 1,
                "required": True,
                "attributes": {"serial": ["string", "computed"], "size": ["number", "required"]},
            }
        },
        "left_out": ["history"],
    }
    assert '"size": ["number", "required"]' in compact(told)


def test_a_providers_configuration_is_taken_out_too(generated: Package) -> None:
    told = provider(generated)
    assert told["attributes"]["id"] == ["string", "optional", "computed"]
    assert told["blocks"]["part"]["attributes"] == {"size": ["number", "optional"]}


def test_a_stand_in_stands_where_terraform_looks_for_the_vendors_provider(tmp_path: Path) -> None:
    python = tmp_path / "environment" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    (tmp_path / "environment" / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    folder = mirrored(tmp_path / "plugins", "digitalocean", environment=tmp_path / "environment")
    source, version = pinned("digitalocean")
    (found,) = (folder / "terraform" / "plugins" / HOST / source / version).glob("*/*")
    assert found.name == f"terraform-provider-digitalocean_v{version}"
    assert found.stat().st_mode & 0o111
    assert "stand-in" in found.read_text()


def test_without_their_environment_a_person_is_told_what_makes_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="make setup"):
        mirrored(tmp_path, "digitalocean", environment=tmp_path / "nothing")
