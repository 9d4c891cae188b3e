"""`kedge images scan`: holds an image's SBOM to what is known to be vulnerable."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import httpx
import typer

from controlplane.cli import exits
from controlplane.cli.errors import CliError
from controlplane.cli.image_scan_view import scan_document, scan_lines
from controlplane.cli.options import Output
from controlplane.cli.output import Format, document, show_or_write
from controlplane.cli.session import session_of

if TYPE_CHECKING:
    from controlplane.server.machine_images.advisories import Advisory
    from controlplane.server.machine_images.scan import Scan

_MOST_BYTES = 512 * 2**20
_PATIENCE_S = 60.0


def scan(
    context: typer.Context,
    image: Annotated[Path, typer.Argument(metavar="IMAGE", show_default=False, help="An image, or its SBOM.")],
    vulnerabilities: Annotated[
        list[str],
        typer.Option(
            "--vulnerabilities",
            metavar="FILE|URL",
            show_default=False,
            help="Debian's security tracker as JSON, or OSV as JSON or zip; may be repeated.",
        ),
    ],
    before: Annotated[
        Path | None,
        typer.Option("--before", metavar="IMAGE", show_default=False, help="The image it is to replace."),
    ] = None,
    at_least: Annotated[
        str,
        typer.Option(
            "--at-least",
            metavar="SEVERITY",
            help="Least severity that is shown: unimportant, low, medium, high, critical.",
        ),
    ] = "low",
    output: Output = Format.TEXT,
) -> None:
    """Scan an image for known vulnerabilities, by its SBOM.

    Debian's packages go by their source packages. Says how to flag a revision for security: with --before by what the
    image is rid of, else by what can be fixed in the next one. What no source tells of is unknown, and is not safe.
    Exit status: 0 nothing found and everything known, 5 vulnerable, 6 nothing found and not everything known.

    \b
    Examples:
      kedge images scan images/kedge-4.2.0-amd64.raw --vulnerabilities tracker.json
      kedge images scan new.cdx.json --before old.cdx.json --vulnerabilities tracker.json --vulnerabilities pypi.zip
      kedge images scan new.cdx.json --vulnerabilities tracker.json -o json | jq -r .flag.security
    """
    from controlplane.server.machine_images import scan as judge
    from controlplane.server.machine_images.advisories import AdvisorySeverity

    session = session_of(context)
    if at_least not in tuple(AdvisorySeverity)[:-1]:
        raise CliError("nothing was scanned", why=f"there is no severity {at_least!r}")
    found, found_before = _scanned(image, before, vulnerabilities)
    if found_before is None:
        flag = judge.flag_of([one for one in found.vulnerable if one.fixed])
    else:
        flag = judge.flag_of(judge.rid_of(found_before, found))
    shown = judge.at_least(found.vulnerable, AdvisorySeverity(at_least))
    told = document("ImageScan", scan_document(found, shown, flag))
    show_or_write(session, output, told, *scan_lines(found, shown, flag, replaces=before is not None))
    if shown or found.unknown:
        raise typer.Exit(exits.VULNERABLE if shown else exits.NOT_COVERED)


def _scanned(image: Path, before: Path | None, places: list[str]) -> "tuple[Scan, Scan | None]":
    """The image, and the one it is to replace."""
    from controlplane.server.machine_images.refusal import ImageRefused
    from controlplane.server.machine_images.sbom_reader import read_sbom, sbom_beside
    from controlplane.server.machine_images.scan import scan as judged

    try:
        parts = read_sbom(sbom_beside(image))
        parts_before = read_sbom(sbom_beside(before)) if before is not None else None
        known = [one for place in places for one in _read(place)]
    except ImageRefused as error:
        raise CliError("nothing was scanned", why=str(error), next_step=error.next_step) from None
    return judged(parts, known), judged(parts_before, known) if parts_before is not None else None


def _read(place: str) -> "list[Advisory]":
    from controlplane.server.machine_images.advisories import read_advisories
    from controlplane.server.machine_images.refusal import ImageRefused

    if not place.startswith(("http://", "https://")):
        try:
            return list(read_advisories(Path(place).read_bytes(), place))
        except OSError as error:
            raise ImageRefused(f"{place} cannot be read: {error.strerror}") from None
    body = bytearray()
    try:
        with httpx.stream("GET", place, timeout=_PATIENCE_S, follow_redirects=True) as answer:
            answer.raise_for_status()
            for piece in answer.iter_bytes():
                body += piece
                if len(body) > _MOST_BYTES:
                    raise ImageRefused(
                        f"{place} has more than {_MOST_BYTES >> 20} MiB: that is no list of vulnerabilities"
                    )
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ImageRefused(
            f"{place} cannot be fetched: {error}", next_step="fetch it elsewhere and give it as a file"
        ) from None
    return list(read_advisories(bytes(body), place))
