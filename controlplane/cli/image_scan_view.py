"""A scan of an image as people and programs read it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from controlplane.cli.tables import listing
from controlplane.runtime.styled_text import styled
from events.quantities import counted as number_of

if TYPE_CHECKING:
    from controlplane.server.machine_images.scan import Flag, Scan, Vulnerable

_STYLE = {"critical": "bold red", "high": "red", "unknown": "red", "medium": "yellow", "low": "", "unimportant": "dim"}


def scan_document(found: "Scan", counted: "Sequence[Vulnerable]", flag: "Flag | None") -> dict[str, Any]:
    """All of it; `flag` is null where there is nothing to flag a revision for."""
    return {
        "vulnerable": [asdict(one) for one in counted],
        "unknown": [asdict(one) for one in found.unknown],
        "clear": found.clear,
        "flag": asdict(flag) if flag is not None else None,
    }


def scan_lines(
    found: "Scan", counted: "Sequence[Vulnerable]", flag: "Flag | None", *, replaces: bool
) -> Iterator[RenderableType]:
    """Findings, what is unknown, and how to flag a revision."""
    if counted:
        rows: list[list[Text | str]] = [
            [one.package, one.installed, one.fixed or "-", styled(one.severity, _STYLE[one.severity]), one.id]
            for one in counted
        ]
        yield listing(["PACKAGE", "INSTALLED", "FIXED IN", "SEVERITY", "ID"], rows)
    below = len(found.vulnerable) - len(counted)
    yield f"{number_of(len(counted), 'finding')}, {below} of less severity, {found.clear} parts clear"
    if found.unknown:
        yield ""
        parts = len({(one.package, one.installed) for one in found.unknown})
        yield styled(f"{number_of(parts, 'part')} of the image unknown, which is not safe:", "yellow")
        why = Counter(one.why for one in found.unknown)
        yield listing(["PACKAGE", "WHY"], _unknown(found, why))
    yield ""
    what = "this image is rid of what the one before has" if replaces else "a next image can be rid of what has a fix"
    if flag is None:
        yield "no flag: nothing that counts " + ("is gone" if replaces else "has a fix")
    else:
        yield f"{what}; publish it with\n  security: {flag.security}\n  reason: {flag.reason}"


def _unknown(found: "Scan", why: Counter[str]) -> Iterator[list[str]]:
    """One line a reason."""
    for reason in sorted(why):
        names = sorted({one.package for one in found.unknown if one.why == reason})
        yield [names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more", reason]
