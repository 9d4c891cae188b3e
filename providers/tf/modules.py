"""Where the Terraform modules are: `terraform/modules` of a checkout, or inside the installed package."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import providers

_RESOURCE = re.compile(r'^resource "(\w+)" "(\w+)" \{$(.*?)^\}$', re.MULTILINE | re.DOTALL)
_DYNAMIC = re.compile(r'^  dynamic "(\w+)" \{$', re.MULTILINE)
"""As `terraform fmt` writes them: two signs more for a block within a block."""


_PINNED = re.compile(r'source\s*=\s*"(?P<source>[\w.-]+/[\w.-]+)"\s*version\s*=\s*"(?P<version>[\w.-]+)"')


@dataclass(frozen=True, slots=True)
class PinnedProvider:
    """`source` is `<namespace>/<name>`, as the module spells it."""

    source: str
    version: str

    @property
    def name(self) -> str:
        return self.source.partition("/")[2].lower()

    def __str__(self) -> str:
        return f"{self.source} {self.version}"


def pinned_providers(module: Path) -> tuple[PinnedProvider, ...]:
    """What the module's `versions.tf` names; nothing for one that does with what is built into Terraform."""
    versions = module / "versions.tf"
    text = versions.read_text() if versions.exists() else ""
    return tuple(PinnedProvider(found["source"], found["version"]) for found in _PINNED.finditer(text))


def module_root() -> Path:
    """The folder with one module per cloud. Raises `FileNotFoundError` when the installation lost it."""
    package = Path(providers.__path__[0]).resolve()
    for candidate in (package.parent / "terraform" / "modules", package / "_terraform" / "modules"):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"no Terraform modules beside or inside {package}: install Kedge again")


def dynamic_blocks(module: Path) -> Mapping[str, frozenset[str]]:
    """`<type>.<name>` of each resource that has any -> names of its `dynamic` blocks. No plan tells of those: its
    account of a configuration leaves them out.
    """
    text = "\n".join(path.read_text() for path in sorted(module.glob("*.tf")))
    found = {f"{kind}.{name}": frozenset(_DYNAMIC.findall(body)) for kind, name, body in _RESOURCE.findall(text)}
    return {resource: blocks for resource, blocks in found.items() if blocks}
