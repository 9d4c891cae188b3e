"""`kedge agent-bundle`: the agent as archives for VMs of a plain image, one for each processor."""

import platform
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from controlplane.cli.errors import CliError
from controlplane.cli.session import session_of

if TYPE_CHECKING:
    from controlplane.server.agent_bundle import Bundle

_ALL = "all"


def agent_bundle(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the archives are written.")] = Path(),
    arch: Annotated[
        str,
        typer.Option("--arch", metavar="PROCESSOR", help="Architecture of the VMs: x86_64, aarch64 (arm64), or all."),
    ] = _ALL,
) -> None:
    """Write the agent as archives for VMs of a plain Debian image.

    One for each architecture; VMs fetch them from your mirror. The one for this machine's architecture is made from
    this installation, offline and reproducibly. For the other, pip fetches the packages that requirements.lock
    names, by SHA-256, from its index. VMs need the Python version of this machine. Copy the output into the section
    `software` of `<cloud>.yaml`.

    \b
    Examples:
      kedge agent-bundle --out mirror/
      kedge agent-bundle --arch arm64 --out mirror/
    """
    from controlplane.server.agent_bundle import PROCESSORS, BundleRefused, processor_named, write_bundle

    session = session_of(context)
    try:
        # This machine's first: it needs nobody, and is there whatever becomes of the other.
        wanted = (
            sorted(PROCESSORS, key=lambda one: one != platform.machine()) if arch == _ALL else [processor_named(arch)]
        )
    except BundleRefused as error:
        raise CliError("no archive was written", why=str(error)) from None
    made: list[Bundle] = []
    for processor in wanted:
        try:
            made.append(write_bundle(out, processor))
        except (BundleRefused, OSError) as error:
            there = f"; written is {made[0].path}, `--arch {made[0].processor}` asks for that alone" if made else ""
            raise CliError(f"no archive was written for {processor}", where=str(out), why=f"{error}{there}") from None
        session.tell(f"wrote {made[-1].path}, {made[-1].size_bytes / 2**20:.1f} MiB")
    session.write("\n".join(_settings(made)))


def _settings(made: "list[Bundle]") -> list[str]:
    """As `software` takes them, in the words of images and machines."""
    from providers.software import ARCHITECTURES

    lines = ["agent:"]
    for one in made:
        lines += [
            f"  {ARCHITECTURES[one.processor]}:",
            f"    url: https://YOUR-MIRROR/{one.path.name}",
            f"    sha256: {one.sha256}",
        ]
    return lines
