"""The release of Debian that images are made of, and that vulnerabilities are asked of."""

SUITE = "bookworm"
"""Debian 12: its Python 3.11 is what agents are packed for."""
ECOSYSTEM = "Debian:12"
"""The same in OSV's words. Packages there are source packages."""
DISTRO = "debian-12"
"""The same in package URLs."""
