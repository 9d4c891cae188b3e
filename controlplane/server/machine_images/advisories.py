"""What is known to be vulnerable: Debian's security tracker, or records of OSV, read into one form.

Sources: https://security-tracker.debian.org/tracker/data/json (source package -> CVE -> release), and the OSV schema
(https://ossf.github.io/osv-schema/), one record, many, or a dump of an ecosystem as a zip.
"""

import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cvss import CVSS2, CVSS3, CVSS4, CVSSError
from debian.debian_support import Version as DebianVersion
from packaging.version import InvalidVersion, Version

from controlplane.server.machine_images.refusal import ImageRefused
from controlplane.server.machine_images.release import ECOSYSTEM, SUITE


class AdvisorySeverity(StrEnum):
    """Gravest last but for `UNKNOWN`, of which nobody says how grave it is."""

    UNIMPORTANT = "unimportant"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class AffectedRange:
    """Affected from `introduced` ("0": from the first) until `fixed`, or to `last_affected`; "" where not told."""

    introduced: str
    fixed: str = ""
    last_affected: str = ""


@dataclass(frozen=True, slots=True)
class Advisory:
    """What one source says of one package."""

    id: str
    ecosystem: str
    package: str
    severity: AdvisorySeverity
    ranges: tuple[AffectedRange, ...]
    versions: frozenset[str] = frozenset()
    undetermined: bool = False
    """The source itself does not know yet whether the package is affected."""

    def affects(self, version: str) -> AffectedRange | None:
        """The range that version lies in; None where it lies in none. Raises `ValueError` where that cannot be told."""
        if version in self.versions:
            return next((one for one in self.ranges if one.fixed), AffectedRange("0"))
        if self.versions and not self.ranges:
            return None
        if self.undetermined:
            raise ValueError("the source has not determined it yet")
        order = _order_of(self.ecosystem)
        return next((one for one in self.ranges if _lies_in(version, one, order)), None)


def _order_of(ecosystem: str) -> Any:
    kind = ecosystem.partition(":")[0]
    if kind == "Debian":
        return DebianVersion
    if kind == "PyPI":
        return Version
    raise ValueError(f"versions of {kind} cannot be compared here, only found in a list")


def _lies_in(version: str, told: AffectedRange, order: Any) -> bool:
    try:
        own = order(version)
        if told.introduced != "0" and own < order(told.introduced):
            return False
        if told.fixed:
            return bool(own < order(told.fixed))
        return not told.last_affected or bool(own <= order(told.last_affected))
    except InvalidVersion as error:
        raise ValueError(str(error)) from None


def read_advisories(body: bytes, name: str) -> Sequence[Advisory]:
    """All that a file tells. Raises `ImageRefused` where it is neither the tracker's nor OSV's."""
    try:
        found = list(_advisories(body))
    except (ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise ImageRefused(
            f"{name} is neither Debian's tracker nor OSV: {type(error).__name__}: {error}",
            next_step="give https://security-tracker.debian.org/tracker/data/json, or records of OSV as JSON or zip",
        ) from None
    if not found:
        raise ImageRefused(f"{name} tells of no package at all, so it is no ground to judge an image by")
    return found


def _advisories(body: bytes) -> Iterator[Advisory]:
    if body.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            for name in archive.namelist():
                if name.endswith(".json"):
                    yield from _of_osv(json.loads(archive.read(name)))
        return
    told = json.loads(body)
    records = told if isinstance(told, list) else told.get("vulns")
    if records is None and "affected" in told:
        records = [told]
    if records is None:
        yield from _of_tracker(told)
        return
    for record in records:
        yield from _of_osv(record)


def _of_tracker(told: Mapping[str, Any]) -> Iterator[Advisory]:
    """Version "0" as the one that fixes it says that the release was never affected."""
    for package, by_id in told.items():
        for identity, one in by_id.items():
            release = one["releases"].get(SUITE)
            if release is None:
                continue
            fixed = release.get("fixed_version", "")
            ranges = () if fixed == "0" else (AffectedRange("0", fixed if release["status"] == "resolved" else ""),)
            severity = _severity_named(release.get("urgency", ""))
            undetermined = release["status"] == "undetermined"
            yield Advisory(identity, ECOSYSTEM, package, severity, ranges, undetermined=undetermined)


def _of_osv(record: Mapping[str, Any]) -> Iterator[Advisory]:
    if record.get("withdrawn"):
        return
    for one in record.get("affected", ()):
        package = one["package"]
        ranges = tuple(
            span for told in one.get("ranges", ()) if told["type"] != "GIT" for span in _spans(told["events"])
        )
        yield Advisory(
            record["id"],
            package["ecosystem"],
            _canonical(package["ecosystem"], package["name"]),
            _severity_of(record, one),
            ranges,
            frozenset(one.get("versions", ())),
        )


def _canonical(ecosystem: str, name: str) -> str:
    return name.lower().replace("_", "-") if ecosystem == "PyPI" else name


def _spans(events: Iterable[Mapping[str, str]]) -> Iterator[AffectedRange]:
    introduced = ""
    for event in events:
        if "introduced" in event:
            if introduced:
                yield AffectedRange(introduced)
            introduced = event["introduced"]
        elif introduced and ("fixed" in event or "last_affected" in event):
            yield AffectedRange(introduced, event.get("fixed", ""), event.get("last_affected", ""))
            introduced = ""
    if introduced:
        yield AffectedRange(introduced)


def _severity_of(record: Mapping[str, Any], affected: Mapping[str, Any]) -> AdvisorySeverity:
    """Debian's own word before a score, a score before what a database calls it."""
    named = _severity_named(affected.get("ecosystem_specific", {}).get("urgency", ""))
    if named is not AdvisorySeverity.UNKNOWN:
        return named
    for told in (*affected.get("severity", ()), *record.get("severity", ())):
        if (scored := _scored(told.get("type", ""), told.get("score", ""))) is not AdvisorySeverity.UNKNOWN:
            return scored
    return _severity_named(str(record.get("database_specific", {}).get("severity", "")))


def _severity_named(word: str) -> AdvisorySeverity:
    plain = {"moderate": "medium", "none": "unimportant"}.get(word.lower(), word.lower())
    return AdvisorySeverity(plain) if plain in tuple(AdvisorySeverity) else AdvisorySeverity.UNKNOWN


def _scored(kind: str, vector: str) -> AdvisorySeverity:
    reader = {"CVSS_V2": CVSS2, "CVSS_V3": CVSS3, "CVSS_V4": CVSS4}.get(kind)
    if reader is None:
        return AdvisorySeverity.UNKNOWN
    try:
        told = reader(vector)
    except CVSSError:
        return AdvisorySeverity.UNKNOWN
    return _severity_named(told.severity if kind == "CVSS_V4" else told.severities()[0])
