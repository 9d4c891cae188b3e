"""A mirror of Terraform's providers: with one they come from there, and no registry is ever asked, whatever it lacks.

It is said to Terraform in the configuration of its command line: an installation block without `direct` leaves it no
other way (developer.hashicorp.com/terraform/cli/config/config-file, "Provider Installation"). What a mirror has is held
to the checksums of the first `init` like anything else.
"""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from providers.errors import ProviderNotMirrored, TerraformFailed
from providers.tf.modules import PinnedProvider, pinned_providers

IN_DATA_FOLDER = Path("terraform/plugins")
"""Where Terraform looks below an XDG data folder, `plugins` of a cloud's file."""

_HOW = "docs/operating.md, `Providers from a mirror`"
_NO_REGISTRY = "with terraform.mirror no registry is asked"
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


class MirrorRefused(Exception):
    """The mirror cannot be used as things are. What now: give up; the message says what a person does."""


@dataclass(frozen=True, slots=True)
class ProviderMirror:
    """`place` is an absolute path, of a folder as `terraform providers mirror` writes it, or an `https` URL."""

    place: str

    @classmethod
    def of(cls, told: str) -> "ProviderMirror":
        """What a person wrote. Nothing is looked for yet. Raises ValueError."""
        if "://" in told:
            return cls(_url(told))
        path = str(Path(told).expanduser().absolute())
        if "${" in path or not path.isprintable():
            raise ValueError(f"{told!r} has signs that Terraform would not take for a path: give the mirror another")
        return cls(path)

    @property
    def folder(self) -> Path | None:
        """None for one that is asked over the network."""
        return None if "://" in self.place else Path(self.place)

    def refuse_unusable(self) -> None:
        """Raises MirrorRefused for a folder that is not there, or cannot be read. One by URL is not asked."""
        if self.folder is None:
            return
        if not self.folder.exists():
            raise MirrorRefused(
                f"the mirror {self.place} that terraform.mirror names is not there: Terraform would have no provider "
                f"at all. Make it with `terraform providers mirror` ({_HOW}), or take the setting out"
            )
        if not self.folder.is_dir():
            raise MirrorRefused(
                f"the mirror {self.place} that terraform.mirror names is not a folder: name the one that "
                f"`terraform providers mirror` wrote ({_HOW})"
            )
        if not os.access(self.folder, os.R_OK | os.X_OK):
            raise MirrorRefused(
                f"the mirror {self.place} that terraform.mirror names may not be read by user {os.geteuid()}, whom the "
                "server runs as: let that user read it"
            )

    def configuration(self, data_folders: str) -> str:
        """The block for Terraform's CLI configuration. Below `data_folders` (XDG_DATA_DIRS) lie mirrors that it would
        find by itself without this block; they count as before, and first."""
        implied = [found for found in _implied(data_folders) if found.is_dir()]
        methods = [_method("filesystem_mirror", "path", str(found)) for found in implied]
        if self.folder is not None:
            methods.append(_method("filesystem_mirror", "path", self.place))
        else:
            methods.append(_method("network_mirror", "url", self.place))
        return f"provider_installation {{\n{''.join(methods)}}}\n"

    def lacking(self, module: Path, data_folders: str = "") -> tuple[PinnedProvider, ...] | None:
        """What the module needs and neither has for this machine's platform; None where only asking could tell."""
        if self.folder is None:
            return None
        folders = [self.folder, *_implied(data_folders)]
        return tuple(p for p in pinned_providers(module) if not any(_has(folder, p) for folder in folders))

    def explained(self, error: TerraformFailed, module: Path, data_folders: str) -> TerraformFailed:
        """The error of an `init` with what a person does about it, where a mirror that lacks something may be why."""
        lacks = self.lacking(module, data_folders)
        if lacks == () or "lock file" in str(error):
            return error
        told = self.lacking_text(lacks) if lacks is not None else self._silence_text(module)
        return ProviderNotMirrored(f"{told}. {self.how_to_add(module)}", error.diagnostics)

    def lacking_text(self, lacks: Sequence[PinnedProvider]) -> str:
        """That it lacks these."""
        wanted = ", ".join(map(str, lacks))
        return f"the mirror {self.place} has no {wanted} for {own_platform()}, and {_NO_REGISTRY}"

    def _silence_text(self, module: Path) -> str:
        wanted = ", ".join(map(str, pinned_providers(module)))
        return f"the mirror {self.place} did not give {wanted} for {own_platform()}, and {_NO_REGISTRY}"

    def how_to_add(self, module: Path) -> str:
        """The command, with the versions that the module pins."""
        into = self.place if self.folder is not None else "DIR"
        command = f"terraform -chdir={module} providers mirror -platform={own_platform()} {into}"
        return f"Where a registry can be reached run `{command}` ({_HOW})"


def own_platform() -> str:
    """This machine's, as Terraform names it."""
    machine = platform.machine()
    return f"{platform.system().lower()}_{_MACHINES.get(machine, machine)}"


def _implied(data_folders: str) -> list[Path]:
    return [Path(one) / IN_DATA_FOLDER for one in data_folders.split(os.pathsep) if one]


def _has(folder: Path, wanted: PinnedProvider) -> bool:
    """Packed or unpacked, for whatever host: Terraform's default one is a matter of its build."""
    version, where = wanted.version, own_platform()
    packed = f"terraform-provider-{wanted.name}_{version}_{where}.zip"
    for found in folder.glob(f"*/{wanted.source.lower()}"):
        unpacked = found / version / where
        if (found / packed).is_file() or (unpacked.is_dir() and any(unpacked.iterdir())):
            return True
    return False


def _method(kind: str, what: str, place: str) -> str:
    return f"  {kind} {{\n    {what} = {json.dumps(place, ensure_ascii=False)}\n  }}\n"


def _url(told: str) -> str:
    """Terraform wants `https` and a slash at the end."""
    parts = urlsplit(told)
    if parts.scheme != "https":
        raise ValueError(f"{told!r} is not over https: Terraform takes no other network mirror")
    if not parts.hostname or parts.query or parts.fragment or "${" in told or not told.isprintable() or " " in told:
        raise ValueError(
            f"{told!r} is not an address of a mirror: write it as in https://mirror.example.com/providers/"
        )
    if parts.username or parts.password:
        raise ValueError("the address of a mirror has no user and no password in it: it stands in logs and errors")
    return told if told.endswith("/") else f"{told}/"
