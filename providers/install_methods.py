"""How a VM gets at its software where it has no way into the internet: mirror, proxy and CA, as files it is born with.

They are read by what is there anyway: apt's own configuration, and the environment of the unit that installs. So the
installer is the same for all VMs, and without these settings there is none of the files.
"""

from collections.abc import Iterator

from providers.software import Software

APT_CONFIG = "/etc/apt/apt.conf.d/90kedge"
APT_SOURCES = "/etc/kedge/apt.list"
UNIT_CONFIG = "/etc/systemd/system/kedge-software.service.d/ways.conf"
CA, BELIEVED = "/etc/kedge/software-ca.pem", "/etc/kedge/software-believed.pem"
"""The CA of the settings, and it with all that the image believes."""
_OF_IMAGE = "/etc/ssl/certs/ca-certificates.crt"


def ways_to_software(software: Software) -> dict[str, str]:
    """Path -> text; empty where the VM asks the internet. Pure."""
    found: dict[str, str] = {}
    if apt := list(_apt(software)):
        found[APT_CONFIG] = "".join(f"{line};\n" for line in apt)
    if software.apt_mirror is not None:
        found[APT_SOURCES] = "".join(f"{line}\n" for line in _sources(software))
    if unit := list(_unit(software)):
        found[UNIT_CONFIG] = "".join(f"{line}\n" for line in ("[Service]", *unit))
    if software.ca is not None:
        found[CA] = software.ca
    return found


def _apt(software: Software) -> Iterator[str]:
    if software.apt_mirror is not None:
        yield f'Dir::Etc::sourcelist "{APT_SOURCES}"'
        yield 'Dir::Etc::sourceparts "/dev/null"'
    if software.proxy is not None:
        for scheme in ("http", "https"):
            yield f'Acquire::{scheme}::Proxy "{_bare(software.proxy)}"'
            yield from (f'Acquire::{scheme}::Proxy::{host} "DIRECT"' for host in _named(software.no_proxy))
    if software.ca is not None:
        yield f'Acquire::https::CAInfo "{BELIEVED}"'


def _sources(software: Software) -> Iterator[str]:
    suite, signed = software.apt_suite, "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
    yield f"deb {signed} {_bare(software.apt_mirror)} {suite} main"
    yield f"deb {signed} {_bare(software.apt_mirror)} {suite}-updates main"
    if software.apt_security_mirror is not None:
        yield f"deb {signed} {_bare(software.apt_security_mirror)} {suite}-security main"


def _unit(software: Software) -> Iterator[str]:
    if software.proxy is not None:
        for name in ("http_proxy", "https_proxy"):
            yield f'Environment="{name}={_for_unit(_bare(software.proxy))}"'
        if software.no_proxy:
            yield f'Environment="no_proxy={",".join(software.no_proxy)}"'
    if software.ca is not None:
        # An image without certificates of its own believes this one alone.
        yield f"ExecStartPre=/bin/sh -c 'cat {_OF_IMAGE} {CA} > {BELIEVED} 2>/dev/null || cp {CA} {BELIEVED}'"
        yield f'Environment="SSL_CERT_FILE={BELIEVED}"'


def _named(hosts: tuple[str, ...]) -> Iterator[str]:
    """apt knows hosts by their whole names only; domains it would take for one."""
    return (host for host in hosts if not host.startswith((".", "*")))


def _bare(url: object) -> str:
    """Without the slash that a URL of a host alone is given."""
    return str(url).rstrip("/")


def _for_unit(url: str) -> str:
    """systemd reads `%` as the beginning of a word of its own."""
    return url.replace("%", "%%")
