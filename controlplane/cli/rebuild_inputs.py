"""What `kedge rebuild` is given: spec files and folders, places, and whose VMs to look for."""

from collections.abc import Sequence
from pathlib import Path

from controlplane.cli import exits
from controlplane.cli.errors import CliError
from controlplane.cli.spec_file import STDIN, read_spec
from controlplane.server.clouds import Clouds
from controlplane.server.rebuild.evidence import DeclaredSpec
from controlplane.server.settings import Settings
from events.quantities import counted
from events.spec.document import load_documents
from providers.base import Place
from providers.errors import ProviderError
from providers.traces import SeesForeignVms


def declared_specs(files: Sequence[str]) -> list[DeclaredSpec]:
    """Every document of the files, and of the YAML files in folders. Raises CliError naming the first problem."""
    found: list[DeclaredSpec] = []
    for name in (n for path in files for n in _named(path)):
        spec = read_spec(name)
        loaded = load_documents(spec.content, file=spec.name)
        if not loaded.ok:
            first = loaded.errors[0]
            where = f"{first.file}:{first.line}:{first.column}"
            next_step = f"kedge validate --offline -f {spec.name}"
            raise CliError("a spec is not valid", where=where, why=first.message, next_step=next_step)
        found += [DeclaredSpec(document, spec.name) for document in loaded.documents]
    return found


def _named(path: str) -> list[str]:
    """A file as it is; of a folder its YAML files, by name."""
    folder = Path(path)
    if path == STDIN or not folder.is_dir():
        return [path]
    found = sorted(str(file) for pattern in ("*.yaml", "*.yml") for file in folder.glob(pattern))
    if not found:
        raise CliError("there is no spec in the folder", where=path, why="no file ends in .yaml or .yml")
    return found


def place_named(text: str) -> Place:
    """`CLOUD/REGION` or `CLOUD/ACCOUNT/REGION`. Raises CliError."""
    match text.split("/"):
        case [cloud, region]:
            return Place(cloud, region)
        case [cloud, account, region]:
            return Place(cloud, region, account)
    why = f"{text!r} is neither CLOUD/REGION nor CLOUD/ACCOUNT/REGION"
    raise CliError("the place cannot be read", why=why, exit_code=exits.USAGE)


def installation_of(settings: Settings, kept: str | None, given: str, places: Sequence[Place]) -> str:
    """Whose VMs to look for: what the home says, or a person where the home has lost it."""
    if kept and given and kept != given:
        why = f"{settings.home}/installation-id says {kept}"
        raise CliError(f"this home is not installation {given}", why=why, next_step="leave --installation out")
    if kept or given:
        return kept or given
    why = f"{settings.home} has no installation-id, which says whose VMs are ours{_candidates(settings, places)}"
    next_step = "--installation ID, as in the tag kedge-installation of the VMs"
    raise CliError("it is not known whose VMs to look for", why=why, next_step=next_step)


def _candidates(settings: Settings, places: Sequence[Place]) -> str:
    clouds, seen = Clouds(settings, "unknown"), dict[str, int]()
    for place in places:
        try:
            provider = clouds(place.cloud)
            seen.update(provider.foreign_vms(place) if isinstance(provider, SeesForeignVms) else {})
        except ProviderError:
            continue
    candidates = ", ".join(f"{installation} ({counted(vms, 'VM')})" for installation, vms in seen.items())
    return f"; seen there: {candidates}" if candidates else ""
