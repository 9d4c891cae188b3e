"""An image's parts held to what is known to be vulnerable: Debian's versions, sources of other names, doubts."""

import io
import json
import zipfile
from typing import Any

import pytest

from controlplane.server.machine_images.advisories import Advisory, AdvisorySeverity, AffectedRange, read_advisories
from controlplane.server.machine_images.refusal import ImageRefused
from controlplane.server.machine_images.release import ECOSYSTEM as DEBIAN
from controlplane.server.machine_images.sbom_reader import Component
from controlplane.server.machine_images.scan import Vulnerable, at_least, flag_of, rid_of, scan

LIBSSL = Component("libssl3", "3.0.15-1~deb12u1", ((DEBIAN, "openssl", "3.0.15-1~deb12u1"),))


def tracker(
    status: str, fixed: str = "", urgency: str = "not yet assigned", *, package: str = "openssl"
) -> list[Advisory]:
    release = {"status": status, "urgency": urgency, **({"fixed_version": fixed} if fixed else {})}
    told = {package: {"CVE-2026-1": {"releases": {"bookworm": release, "sid": {"status": "open"}}}}}
    return list(read_advisories(json.dumps(told).encode(), "tracker.json"))


def osv(ecosystem: str, name: str, *, events: list[dict[str, str]], **more: Any) -> list[Advisory]:
    affected = {"package": {"ecosystem": ecosystem, "name": name}, "ranges": [{"type": "ECOSYSTEM", "events": events}]}
    record = {"id": "OSV-1", "affected": [{**affected, **more.pop("of_package", {})}], **more}
    return list(read_advisories(json.dumps(record).encode(), "osv.json"))


@pytest.mark.parametrize(
    ("installed", "fixed", "is_affected"),
    [
        ("3.0.15-1~deb12u1", "3.0.15-1", True),  # a tilde sorts before nothing
        ("3.0.15-1", "3.0.15-1~deb12u1", False),
        ("3.0.15-1", "3.0.15-1", False),
        ("1:1.0-1", "9.0-1", False),  # an epoch before all else
        ("2.9-1", "2.10-1", True),  # numbers, not letters
        ("1.0-1+deb12u1", "1.0-1+deb12u10", True),
    ],
)
def test_versions_are_compared_as_debian_does(installed: str, fixed: str, is_affected: bool) -> None:
    part = Component("libssl3", installed, ((DEBIAN, "openssl", installed),))
    found = scan([part], tracker("resolved", fixed))
    assert [one.fixed for one in found.vulnerable] == ([fixed] if is_affected else [])
    assert (found.clear, found.unknown) == (0 if is_affected else 1, ())


def test_what_is_open_has_no_fix_and_what_never_was_affected_is_clear() -> None:
    (open_one,) = scan([LIBSSL], tracker("open", urgency="high")).vulnerable
    assert open_one == Vulnerable("libssl3", "3.0.15-1~deb12u1", "", AdvisorySeverity.HIGH, "CVE-2026-1")
    never = scan([LIBSSL], tracker("resolved", "0"))
    assert (never.vulnerable, never.clear) == ((), 1)


def test_what_the_tracker_has_not_determined_is_unknown_and_not_clear() -> None:
    found = scan([LIBSSL], tracker("undetermined"))
    assert (found.vulnerable, found.clear) == ((), 0)
    assert "CVE-2026-1: the source has not determined it yet" in found.unknown[0].why


def test_a_part_that_no_source_tells_of_is_unknown_and_not_clear() -> None:
    jar = Component("jolokia-agent", "2.2.9", ())
    found = scan([LIBSSL, jar], tracker("open", package="zlib"))
    assert found.clear == 0
    assert [(one.package, one.why) for one in found.unknown] == [
        ("jolokia-agent", "no source could know it by its name"),
        ("libssl3", "no source tells of openssl"),
    ]


def test_a_signed_kernel_is_judged_by_the_source_it_is_built_of() -> None:
    """Its own source, linux-signed-amd64, has no entry at the tracker: taken for safe it would hide what Linux has."""
    known_as = ((DEBIAN, "linux-signed-amd64", "6.1.1+1"), (DEBIAN, "linux", "6.1.1-1"))
    kernel = Component("linux-image-6.1.0-1-cloud-amd64", "6.1.1-1", known_as)
    (found,) = scan([kernel], tracker("resolved", "6.1.2-1", package="linux")).vulnerable
    assert (found.installed, found.fixed) == ("6.1.1-1", "6.1.2-1")


def test_ranges_of_osv_open_and_close_more_than_once() -> None:
    events = [{"introduced": "0"}, {"fixed": "2"}, {"introduced": "4"}, {"last_affected": "5"}]
    told = osv("PyPI", "Odd_Name", events=events)
    affected = {v for v in ("1", "2", "3", "4.1", "5", "5.1") if told[0].affects(v)}
    assert affected == {"1", "4.1", "5"}
    assert told[0].package == "odd-name"
    assert scan([Component("odd-name", "1.0", (("PyPI", "odd-name", "1.0"),))], told).vulnerable[0].fixed == "2"


def test_a_version_of_a_jar_is_found_in_a_list_and_doubtful_where_there_is_none() -> None:
    events = [{"introduced": "0"}, {"fixed": "1.5.7-1"}]
    jar = Component("zstd-jni", "1.5.6-10", (("Maven", "com.github.luben:zstd-jni", "1.5.6-10"),))
    listed = osv("Maven", "com.github.luben:zstd-jni", events=events, of_package={"versions": ["1.5.6-10"]})
    assert [one.fixed for one in scan([jar], listed).vulnerable] == ["1.5.7-1"]
    unlisted = scan([jar], osv("Maven", "com.github.luben:zstd-jni", events=events))
    assert (unlisted.vulnerable, unlisted.clear) == ((), 0)
    assert "cannot be compared here" in unlisted.unknown[0].why


@pytest.mark.parametrize(
    ("more", "severity"),
    [
        ({"severity": [{"type": "CVSS_V3", "score": "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"}]}, "critical"),
        ({"severity": [{"type": "CVSS_V3", "score": "CVSS:3.1/AV:L/AC:H/PR:H/UI:R/S:U/C:L/I:N/A:N"}]}, "low"),
        ({"severity": [{"type": "CVSS_V3", "score": "CVSS:3.1/nonsense"}]}, "unknown"),
        ({"database_specific": {"severity": "MODERATE"}}, "medium"),
        ({"of_package": {"ecosystem_specific": {"urgency": "unimportant"}}}, "unimportant"),
        ({"of_package": {"ecosystem_specific": {"urgency": "not yet assigned"}}}, "unknown"),
        ({}, "unknown"),
    ],
)
def test_gravity_is_debians_word_or_a_score_or_unknown(more: dict[str, Any], severity: str) -> None:
    (told,) = osv(DEBIAN, "openssl", events=[{"introduced": "0"}], **more)
    assert told.severity == severity


def test_unknown_gravity_is_shown_whatever_the_least_is_and_flagged_as_high() -> None:
    found = [Vulnerable("a", "1", "2", severity, f"CVE-{severity}") for severity in AdvisorySeverity]
    assert [one.severity for one in at_least(found, AdvisorySeverity.CRITICAL)] == [
        AdvisorySeverity.CRITICAL,
        AdvisorySeverity.UNKNOWN,
    ]
    (unknown,) = (one for one in found if one.severity is AdvisorySeverity.UNKNOWN)
    flag = flag_of([unknown])
    assert flag is not None
    assert (flag.security, flag.reason) == ("high", "CVE-unknown")


def test_a_revision_is_flagged_by_the_worst_it_is_rid_of() -> None:
    found = [Vulnerable("a", "1", "2", AdvisorySeverity.LOW, f"CVE-{number}") for number in range(5)]
    worst = Vulnerable("b", "1", "2", AdvisorySeverity.CRITICAL, "CVE-9")
    flag = flag_of([*found, worst])
    assert flag is not None
    assert (flag.security, flag.reason) == ("critical", "CVE-9, CVE-0, CVE-1, CVE-2 and 2 more")
    assert flag_of([Vulnerable("a", "1", "2", AdvisorySeverity.UNIMPORTANT, "CVE-1")]) is None
    assert flag_of([]) is None


def test_what_the_new_image_still_has_or_leaves_unknown_is_not_gone() -> None:
    mended = Component("libssl3", "3.0.16-1", ((DEBIAN, "openssl", "3.0.16-1"),))
    known = tracker("resolved", "3.0.16-1")
    before = scan([LIBSSL], known)
    assert [one.id for one in rid_of(before, scan([mended], known))] == ["CVE-2026-1"]
    assert rid_of(before, scan([LIBSSL], known)) == ()
    renamed = Component("libssl3", "3.0.16-1", ((DEBIAN, "openssl3", "3.0.16-1"),))
    assert rid_of(before, scan([renamed], known)) == ()


def test_osv_comes_as_one_record_as_many_and_as_a_dump() -> None:
    record = {"id": "A", "affected": [{"package": {"ecosystem": DEBIAN, "name": "x"}, "versions": ["1"]}]}
    dump = io.BytesIO()
    with zipfile.ZipFile(dump, "w") as archive:
        archive.writestr("A.json", json.dumps(record))
    forms = [*(json.dumps(told).encode() for told in (record, [record], {"vulns": [record]})), dump.getvalue()]
    assert {read_advisories(form, "x")[0] for form in forms} == {
        Advisory("A", DEBIAN, "x", AdvisorySeverity.UNKNOWN, (), frozenset({"1"}))
    }
    assert read_advisories(forms[0], "x")[0].affects("1") == AffectedRange("0")
    assert read_advisories(forms[0], "x")[0].affects("2") is None


@pytest.mark.parametrize(
    "body", [b"<html>", b"{}", b"[]", b"PK\x03\x04broken", b'{"openssl": "text"}', b'{"error": {"code": 5}}']
)
def test_a_page_an_empty_list_and_other_json_are_no_ground_to_call_an_image_safe(body: bytes) -> None:
    with pytest.raises(ImageRefused):
        read_advisories(body, "list.json")


def test_a_record_that_was_withdrawn_counts_no_more() -> None:
    with pytest.raises(ImageRefused, match="no package at all"):
        osv(DEBIAN, "openssl", events=[{"introduced": "0"}], withdrawn="2026-01-01T00:00:00Z")
