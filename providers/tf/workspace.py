"""The files of one run, in a directory of its own: what Terraform reads is rendered, never edited, and thrown
away.

Values go into a variables file, never into the configuration: Terraform reads strings of `*.tf.json` as
templates.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from providers.base import Resources, TerraformRun
from providers.tf import abilities, growing, states, tagging

_MODULE = "module"
"""The folder of the module in the folder of a run: `init` remembers where it was, and it is the same for all runs."""

CLI_CONFIGURATION = "disable_checkpoint = true\n"

_OUTPUTS = ("instances", "volumes", "addresses")


@dataclass(frozen=True, slots=True)
class Workspace:
    """A rendered directory. `plan` is where the saved plan goes; all of it is readable by its owner only.

    `fingerprint` stands for all that `init` reads: the configuration and the files of the module, not the values. It is
    the same for every state of a kind, and for a module that grows volumes. `pins` stands for the providers and their
    versions alone: it is the same for the two modules of a cloud, and for all of their releases with those versions.
    """

    directory: Path
    fingerprint: str = ""
    pins: str = ""
    module: Path | None = None
    """Where its module came from, for people: what is here goes."""

    @property
    def plan(self) -> Path:
        return self.directory / "run.tfplan"

    @property
    def cli_config(self) -> Path:
        return self.directory / "terraform.rc"

    @property
    def errored_state(self) -> Path:
        """Where Terraform leaves the state when it could not write it."""
        return self.directory / "errored.tfstate"

    def remove(self) -> None:
        """Delete it, unless it holds the only copy of a state."""
        if not self.errored_state.exists():
            shutil.rmtree(self.directory)


def open_workspace(
    parent: Path,
    *,
    module: Path,
    access: states.StateAccess,
    variables: Mapping[str, object],
    intent_id: str,
    imports: Sequence[abilities.Import] = (),
    outputs: Sequence[str] = _OUTPUTS,
    grows: bool = False,
    tags: bool = False,
) -> Workspace:
    """Render a workspace below `parent` for a module directory and the way to a state.

    With `grows` the module is one whose plans see the sizes of volumes, with `tags` the tags of what stands, which all
    others ignore. Raises `UnsupportedChange` where the module has none.
    """
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    directory = Path(tempfile.mkdtemp(prefix=f"{intent_id[:12]}-", dir=parent)).resolve()
    if grows:
        growing.growing_module(module, directory / _MODULE)
    elif tags:
        tagging.tagging_module(module, directory / _MODULE)
    else:
        _link(module, directory / _MODULE)
    if access.folder is not None:
        (directory / states.STATE_PATH).parent.symlink_to(access.folder.resolve())
    configuration = _configuration(access.backend, tuple(variables), outputs)
    _write(directory / "main.tf.json", configuration)
    _write(directory / "kedge.auto.tfvars.json", dict(variables))
    if imports:
        # In a file of its own, and not in the fingerprint: `init` makes nothing of it.
        blocks = [_literal({"to": i.address, "id": i.id}) for i in imports]
        _write(directory / "imports.tf.json", {"import": blocks})
    workspace = Workspace(directory, _fingerprint(configuration, module), _pins(module), module.resolve())
    workspace.cli_config.write_text(CLI_CONFIGURATION)
    return workspace


def rendered(run: TerraformRun) -> Resources:
    """The resources of a run without what it deletes or forgets: the caller may hand in either set."""
    gone = run.deletes | run.forget
    resources = run.resources
    return replace(
        resources,
        instances=tuple(r for r in resources.instances if f"instance/{r.key}" not in gone),
        volumes=tuple(r for r in resources.volumes if f"volume/{r.key}" not in gone),
        attachments=tuple(r for r in resources.attachments if f"attachment/{r.key}" not in gone),
        addresses=tuple(r for r in resources.addresses if f"address/{r.key}" not in gone),
        bindings=tuple(r for r in resources.bindings if f"binding/{r.key}" not in gone),
    )


def _configuration(
    backend: Mapping[str, Mapping[str, object]], variables: tuple[str, ...], outputs: Sequence[str]
) -> dict[str, object]:
    return {
        "terraform": {"backend": {name: _literal(block) for name, block in backend.items()}},
        "variable": {name: {"type": "any"} for name in variables},
        "module": {"kedge": {"source": f"./{_MODULE}", **{name: f"${{var.{name}}}" for name in variables}}},
        "output": {name: {"value": f"${{module.kedge.{name}}}"} for name in outputs},
    }


def _literal(block: Mapping[str, object]) -> dict[str, object]:
    """The values that must stand in the configuration; `$${` is how a template spells `${`."""
    return {k: v.replace("${", "$${").replace("%{", "%%{") if isinstance(v, str) else v for k, v in block.items()}


def _link(module: Path, folder: Path) -> None:
    """The files of the module, each a link: Terraform resolves a link to a folder, and remembers where that is."""
    folder.mkdir(mode=0o700)
    for file in module.resolve().iterdir():
        (folder / file.name).symlink_to(file)


def _fingerprint(configuration: Mapping[str, object], module: Path) -> str:
    digest = hashlib.sha256(json.dumps(configuration, sort_keys=True).encode())
    for file in sorted(path for path in module.glob("**/*.tf*") if path.is_file()):
        digest.update(f"\0{file.relative_to(module)}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def _pins(module: Path) -> str:
    pinned = module / "versions.tf"
    return hashlib.sha256(pinned.read_bytes()).hexdigest()[:16] if pinned.exists() else ""


def _write(path: Path, value: object) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(value, file, indent=1, sort_keys=True)
