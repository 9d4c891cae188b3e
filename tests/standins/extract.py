"""What a vendor's Terraform provider has, read out of the public package that was generated from its schema.

The packages `cdktn-provider-<cloud>` of PyPI, and their forerunners `cdktf-cdktf-provider-<cloud>`, carry the sources
they were generated with: each member of a resource stands under a comment `name - computed: .., optional: ..,
required: ..`. Only those facts are kept. By hand:

    python -m tests.standins.extract WHEEL digitalocean digitalocean_droplet digitalocean_volume ...

writes `schemas/digitalocean.json`. The resources of the file that stands are kept, so that one can be added.
"""

import base64
import json
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.standins.document import SCHEMAS

_MEMBER = re.compile(
    r"^  // (?P<name>\w+) - computed: (?P<computed>\w+), optional: (?P<optional>\w+), required: (?P<required>\w+)\n"
    r"(?P<code>.*?)(?=^  // \w+ - computed: |^  // ====|^}|\Z)",
    re.MULTILINE | re.DOTALL,
)
_CLASS = re.compile(r"^export class (?P<name>\w+) extends cdkt[fn]\.(?P<base>\w+) \{\n(?P<body>.*?)^\}", re.M | re.S)
_RENDERED = re.compile(
    r"^ +(?P<name>\w+): \{\n +value: (?P<value>.*?),\n +isBlock: (?P<block>\w+),\n +type: \"(?P<type>\w+)\",\n"
    r" +storageClassType: \"(?P<stored>\w+)\",",
    re.MULTILINE,
)
_FUNCTION = re.compile(r"^export function (?P<name>\w+)ToHclTerraform\(.*?\n(?P<body>.*?)^\}", re.M | re.S)
_BLOCK = re.compile(r" = new (?P<kind>\w+?)(?P<shape>List|OutputReference)\(this, \"\w+\"(, (?P<is_set>\w+))?\)")
_MAP = re.compile(r" = new cdkt[fn]\.(?P<of>String|Number|Boolean)Map\(")
_GETTER = re.compile(r"(?P<set>Fn\.tolist\()?this\.get(?P<what>\w+?)Attribute\(")
_FIELD = re.compile(r"private _\w+\?: (?P<type>[^;]+);")
_OR_LATER = re.compile(r" \| cdkt[fn]\.IResolvable$")

_GOT = {
    "String": "string",
    "Number": "number",
    "Boolean": "bool",
    "List": "list(string)",
    "NumberList": "list(number)",
    "StringMap": "map(string)",
    "NumberMap": "map(number)",
    "BooleanMap": "map(bool)",
}
_FIELDS = {
    "string": "string",
    "number": "number",
    "boolean": "bool",
    "string[]": "list(string)",
    "{ [key: string]: string }": "map(string)",
}
_META = frozenset({"alias"})
"""Every provider block has it from Terraform itself."""


@dataclass(frozen=True)
class Package:
    """A wheel of generated bindings, open."""

    name: str
    version: str
    sources: tarfile.TarFile

    def source(self, folder: str) -> str:
        """The generated TypeScript of one resource, which the source map of the compiled file carries whole."""
        packed = self.sources.extractfile(f"package/lib/{folder}/index.js")
        assert packed is not None
        text = packed.read().decode()
        maps = json.loads(base64.b64decode(text[text.rindex("base64,") + len("base64,") :].strip()))
        return str(maps["sourcesContent"][0])


def open_package(wheel: Path) -> Package:
    """The package in a wheel."""
    name, version = wheel.name.split("-")[:2]
    with zipfile.ZipFile(wheel) as files:
        inner = next(n for n in files.namelist() if n.endswith(".jsii.tgz"))
        return Package(name.replace("_", "-"), version, tarfile.open(fileobj=files.open(inner), mode="r:gz"))


def resource(package: Package, type_name: str) -> tuple[dict[str, Any], str]:
    """(attributes and blocks, version of the provider it was generated from) of one resource type."""
    source = package.source(type_name.partition("_")[2].replace("_", "-"))
    version = re.search(r"providerVersion: '([^']+)'", source)
    assert version is not None
    classes = {c["name"]: c["body"] for c in _CLASS.finditer(source)}
    top = next(c["body"] for c in _CLASS.finditer(source) if c["base"] == "TerraformResource")
    return _block(top, classes, _rendered(source)), version[1]


def provider(package: Package) -> dict[str, Any]:
    """Attributes and blocks of the provider's own configuration."""
    source = package.source("provider")
    top = next(c["body"] for c in _CLASS.finditer(source) if c["base"] == "TerraformProvider")
    return _block(top, {}, _rendered(source))


Rendered = dict[str, dict[str, tuple[bool, str, str]]]
"""Function or "" -> member -> (is a block, how it nests, what it stores)."""


def _rendered(source: str) -> Rendered:
    """How each settable member becomes HCL: by nested type, the resource itself under the empty name."""
    found = {
        _lowered(f["name"]): {m["name"]: _how(m) for m in _RENDERED.finditer(f["body"])}
        for f in _FUNCTION.finditer(source)
    }
    own = source[source.rindex("synthesizeHclAttributes()") :]
    return found | {"": {m["name"]: _how(m) for m in _RENDERED.finditer(own)}}


def _how(match: re.Match[str]) -> tuple[bool, str, str]:
    return match["block"] == "true", match["type"], match["stored"]


def _block(body: str, classes: dict[str, str], rendered: Rendered, own: str = "") -> dict[str, Any]:
    attributes: dict[str, list[str]] = {}
    blocks: dict[str, Any] = {}
    left_out: list[str] = []
    for member in _MEMBER.finditer(body):
        name, how = member["name"], rendered.get(own, {}).get(member["name"])
        if name in _META:
            continue
        nested = _BLOCK.search(member["code"])
        if how is not None and how[0]:
            blocks[name] = _nested(member, nested, how, classes, rendered)
        elif (kind := _type(member["code"])) is not None and nested is None:
            attributes[name] = [kind, *_modes(member)]
        else:
            left_out.append(name)
    made: dict[str, Any] = {"attributes": dict(sorted(attributes.items()))}
    if blocks:
        made["blocks"] = dict(sorted(blocks.items()))
    if left_out:
        made["left_out"] = sorted(left_out)
    return made


def _nested(
    member: re.Match[str],
    nested: re.Match[str] | None,
    how: tuple[bool, str, str],
    classes: dict[str, str],
    rendered: Rendered,
) -> dict[str, Any]:
    _, nesting, stored = how
    own = _lowered(stored.removesuffix("List"))
    if nested is not None:
        inner = _block(classes[f"{nested['kind']}OutputReference"], classes, rendered, _lowered(nested["kind"]))
    else:
        inner = _written(rendered, own)
    single = nested is None or nested["shape"] == "OutputReference"
    return {
        "nesting": "single" if nesting == "struct" else nesting,
        **({"max_items": 1} if single and nesting != "struct" else {}),
        **({"required": True} if member["required"] == "true" else {}),
        **inner,
    }


def _written(rendered: Rendered, own: str) -> dict[str, Any]:
    """A block of a provider's configuration, of which only the way it is written is known."""
    parts = rendered.get(own, {})
    stored = {"string": "string", "number": "number", "boolean": "bool", "stringList": "list(string)"}
    made: dict[str, Any] = {
        "attributes": {
            n: [stored.get(s, "string"), "optional"] for n, (is_block, _, s) in parts.items() if not is_block
        }
    }
    blocks = {
        n: {"nesting": t, "max_items": 1, **_written(rendered, _lowered(s.removesuffix("List")))}
        for n, (is_block, t, s) in parts.items()
        if is_block
    }
    return made | ({"blocks": blocks} if blocks else {})


def _type(code: str) -> str | None:
    if told := _MAP.search(code):
        return f"map({_GOT[told['of']]})"
    if (got := _GETTER.search(code)) and got["what"] in _GOT:
        kind = _GOT[got["what"]]
        return kind.replace("list(", "set(") if got["set"] else kind
    if field := _FIELD.search(code):
        return _FIELDS.get(_OR_LATER.sub("", field["type"]).strip())
    return None


def _modes(member: re.Match[str]) -> Iterator[str]:
    return (mode for mode in ("required", "optional", "computed") if member[mode] == "true")


def _lowered(name: str) -> str:
    return name[:1].lower() + name[1:]


def main(arguments: list[str]) -> int:
    """WHEEL CLOUD [TYPE ...]"""
    wheel, cloud, *types = arguments
    package, path = open_package(Path(wheel)), SCHEMAS / f"{cloud}.json"
    resources = json.loads(path.read_text())["resources"] if path.exists() else {}
    version = "unknown"
    for type_name in sorted({*resources, *types}):
        resources[type_name], version = resource(package, type_name)
    document = {
        "source": {
            "package": f"{package.name} {package.version} (PyPI)",
            "provider": version,
            "left_out": "computed objects, which no module of this project reads",
        },
        "provider": provider(package),
        "resources": dict(sorted(resources.items())),
    }
    path.write_text(compact(document))
    return 0


def compact(document: dict[str, Any]) -> str:
    """JSON with a line per attribute and per block's head, so that a difference of two versions can be read."""
    text = json.dumps(document, indent=1)
    return re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", text) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
