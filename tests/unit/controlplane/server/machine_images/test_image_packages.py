"""Debian's packages of an image: read from apt's index, pinned by a lock, held to it."""

import pytest

from controlplane.server.machine_images.packages import hold_to, packages_in, preferences
from controlplane.server.machine_images.refusal import ImageRefused

SHOWN = """Package: libssl3
Architecture: amd64
Version: 3.0.17-1~deb12u2
Source: openssl
SHA256: {a}
Description: Secure Sockets Layer toolkit
 a second line

Package: grub-efi-amd64-signed
Architecture: amd64
Version: 1+2.06+13+deb12u1
Source: grub-efi-amd64-signed (1)
SHA256: {b}

Package: libssl3
Architecture: amd64
Version: 3.0.17-1~deb12u2
Source: openssl
SHA256: {a}
""".format(a="a" * 64, b="b" * 64)


def test_packages_are_told_once_with_the_source_that_vulnerabilities_are_told_of() -> None:
    signed, libssl = packages_in(SHOWN)
    assert (libssl.name, libssl.source, libssl.source_version) == ("libssl3", "openssl", "3.0.17-1~deb12u2")
    assert (signed.source, signed.source_version) == ("grub-efi-amd64-signed", "1")
    assert libssl.sha256 == "a" * 64


def test_an_index_without_digests_makes_no_image() -> None:
    with pytest.raises(ImageRefused, match="'SHA256'"):
        packages_in("Package: a\nVersion: 1\nArchitecture: all\n")


def test_a_lock_pins_each_package_also_to_an_older_version() -> None:
    text = preferences(packages_in(SHOWN))
    assert "Package: libssl3\nPin: version 3.0.17-1~deb12u2\nPin-Priority: 1001\n" in text
    assert text.count("Package:") == 2
    assert preferences(()) == ""


def test_another_version_another_digest_and_a_package_too_many_are_not_what_a_lock_names() -> None:
    lock = packages_in(SHOWN)
    hold_to(lock, lock)
    newer = lock[1].model_copy(update={"version": "3.0.18-1~deb12u1"})
    other = lock[1].model_copy(update={"sha256": "c" * 64})
    with pytest.raises(ImageRefused, match=r"libssl3 3\.0\.18-1~deb12u1 .* for 3\.0\.17-1~deb12u2") as told:
        hold_to(lock, (lock[0], newer))
    assert "a snapshot of Debian's" in told.value.next_step
    with pytest.raises(ImageRefused, match=r"\(cccccccccccc\) for"):
        hold_to(lock, (lock[0], other))
    with pytest.raises(ImageRefused, match=r"libssl3 3\.\S+ \(a+\) for nothing"):
        hold_to(lock[:1], lock)
    with pytest.raises(ImageRefused, match="libssl3 nothing for 3"):
        hold_to(lock, lock[:1])
