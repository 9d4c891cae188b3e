"""The installer of boot data run for real in a plain Debian: apt, dpkg and downloads, by way of mirror, proxy and CA.

The mirror has packages of this test, so that nothing outside is asked; apt, dpkg, Python and TLS are Debian's own.
"""

import hashlib
import http.server
import io
import json
import os
import shutil
import ssl
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from providers.cloud_init import user_data
from providers.install_methods import UNIT_CONFIG
from providers.software import Software
from tests.boot.debian_vm import Root, ran, unpacked
from tests.tools.debian_root import SUITE, root_archive

CACHE = Path(__file__).parents[2] / ".cache"
SHA = "ab" * 32

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        os.geteuid() != 0 and "CI" not in os.environ, reason="another root needs root: an overlay, and chroot"
    ),
]


@pytest.fixture(scope="module")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(root_archive(CACHE), tmp_path_factory.mktemp("debian") / "root")


@pytest.fixture
def root(debian: Path, tmp_path: Path) -> Iterator[Path]:
    over = Root(debian, tmp_path / "over").mount()
    try:
        yield over.path
    finally:
        over.unmount()
        shutil.rmtree(tmp_path / "over", ignore_errors=True)


@dataclass
class Mirror:
    """Files by path, served as they are; a call that names another host is one of a proxy's."""

    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)


@contextmanager
def served(mirror: Mirror, context: ssl.SSLContext | None = None) -> Iterator[int]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            mirror.asked.append(self.path)
            body = mirror.files.get(urlsplit(self.path).path)
            self.send_response(200 if body is not None else 404)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *args: Any) -> None:
            """Nothing is printed."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def a_package(root: Path, name: str, command: str) -> bytes:
    """A Debian package with one command, made by the Debian's own dpkg."""
    folder = root / "tmp" / name
    (folder / "DEBIAN").mkdir(parents=True)
    (folder / "usr" / "sbin").mkdir(parents=True)
    told = f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: a test <t@example.com>\nDescription: a test\n"
    (folder / "DEBIAN" / "control").write_text(told)
    tool = folder / "usr" / "sbin" / command
    tool.write_text("#!/bin/sh\nexit 0\n")
    tool.chmod(0o755)
    ran("chroot", str(root), "dpkg-deb", "--build", f"/tmp/{name}", f"/tmp/{name}.deb")  # of the root
    return (root / "tmp" / f"{name}.deb").read_bytes()


def a_mirror(root: Path, **commands: str) -> Mirror:
    """An archive of that Debian's release with a package for each command, and an agent to fetch."""
    mirror, index = Mirror(), ""
    for name, command in ((n.replace("_", "-"), c) for n, c in commands.items()):
        deb = a_package(root, name, command)
        mirror.files[f"/debian/pool/{name}.deb"] = deb
        index += (
            f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: a test <t@example.com>\n"
            f"Filename: pool/{name}.deb\nSize: {len(deb)}\nSHA256: {hashlib.sha256(deb).hexdigest()}\n"
            f"Description: a test\n\n"
        )
    architecture = ran("chroot", str(root), "dpkg", "--print-architecture")
    for suite, packages in ((SUITE, index.encode()), (f"{SUITE}-updates", b"")):
        path = f"main/binary-{architecture}/Packages"
        digest = hashlib.sha256(packages).hexdigest()
        release = f"Suite: {suite}\nCodename: {suite}\nComponents: main\nArchitectures: {architecture}\n"
        release += f"Date: Sat, 28 Nov 2026 00:00:00 UTC\nSHA256:\n {digest} {len(packages)} {path}\n"
        mirror.files[f"/debian/dists/{suite}/{path}"] = packages
        mirror.files[f"/debian/dists/{suite}/Release"] = release.encode()
    mirror.files["/agent.tar.gz"] = _an_agent()
    # Nobody signs this archive; that Debian's keys are asked for is in the sources, and apt's own affair.
    insecure = 'Acquire::AllowInsecureRepositories "true";\nAPT::Get::AllowUnauthenticated "true";\n'
    (root / "etc" / "apt" / "apt.conf.d" / "99unsigned").write_text(insecure)
    return mirror


def _an_agent() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        member = tarfile.TarInfo("agent/__init__.py")
        tar.addfile(member, io.BytesIO(b""))
    return packed.getvalue()


def software(mirror: Mirror, host: str, **more: Any) -> Software:
    agent = {"url": f"{host}/agent.tar.gz", "sha256": hashlib.sha256(mirror.files["/agent.tar.gz"]).hexdigest()}
    told = {"agent": agent, "kafka": {"4.2.0": agent}, "java": "a-java", "java_package": "a-jre-headless"}
    return Software.model_validate({**told, "apt_mirror": f"{host}/debian", **more})


def install(root: Path, told: Software) -> subprocess.CompletedProcess[str]:
    """Writes the files of the boot data and does what the unit says: its environment, what comes before, the script."""
    text = user_data("{}", kafka_version="4.2.0", software=told, packet_filter="flush ruleset\n")
    for one in yaml.safe_load(text)["write_files"]:
        path = root / one["path"].lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(one["content"])
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    before = []
    ways = root / UNIT_CONFIG.lstrip("/")
    for line in ways.read_text().splitlines() if ways.exists() else ():
        key, _, value = line.partition("=")
        if key == "Environment":
            name, _, told_value = value.strip('"').partition("=")
            environment[name] = told_value
        elif key == "ExecStartPre":
            before.append(value.partition("-c ")[2].strip("'"))
    for command in before:
        ran("chroot", str(root), "/bin/sh", "-c", command)
    script = ["/usr/bin/python3", "-I", "/usr/local/lib/kedge/install.py", "/etc/kedge/software.json"]
    return subprocess.run(
        ["chroot", str(root), *script], env=environment, capture_output=True, text=True, timeout=200, check=False
    )


def test_the_packages_named_are_debians_and_have_the_commands(debian: Path) -> None:
    """Of those the root has; it was made from Debian's own archive."""
    named = Software.model_validate(
        {"agent": {"url": "http://m/a", "sha256": SHA}, "kafka": {"4.2.0": {"url": "http://m/k", "sha256": SHA}}}
    ).packages(filters=True)
    for command, package in named.items():
        where = ran("chroot", str(debian), "/bin/sh", "-c", f"readlink -f $(command -v {command})")
        # Where `/sbin` is a link to `/usr/sbin`, dpkg knows a file by the name its package has for it.
        owner = ran("chroot", str(debian), "/bin/sh", "-c", f"dpkg -S {where} || dpkg -S {where.removeprefix('/usr')}")
        assert owner.split(":")[0] == package, (command, owner)


def test_missing_packages_are_installed_through_the_proxy_and_nothing_of_the_images_sources_is_asked(
    root: Path,
) -> None:
    """apt and the installer's own downloads go the same way; a second run does nothing."""
    mirror = a_mirror(root, e2fsprogs="mkfs.ext4", a_jre_headless="a-java")
    with served(mirror) as port:
        told = software(mirror, "http://mirror.example", proxy=f"http://127.0.0.1:{port}", filesystem="ext4")
        done = install(root, told)
        assert done.returncode == 0, done.stderr + done.stdout
        assert ran("chroot", str(root), "dpkg-query", "-W", "-f", "${Status}", "e2fsprogs") == "install ok installed"
        assert (root / "usr/sbin/a-java").exists()
        assert "__init__.py" in ran("chroot", str(root), "ls", "/opt/kedge/agent/current/agent")
        assert {urlsplit(path).netloc for path in mirror.asked} == {"mirror.example"}
        before = len(mirror.asked)
        again = install(root, told)
        assert (again.returncode, len(mirror.asked)) == (0, before), again.stderr


def test_a_mirror_of_a_ca_of_ones_own_is_believed_by_apt_and_by_the_installer(root: Path, tmp_path: Path) -> None:
    mirror = a_mirror(root, e2fsprogs="mkfs.ext4", a_jre_headless="a-java")
    ca, context = a_ca(tmp_path)
    with served(mirror, context) as port:
        done = install(root, software(mirror, f"https://127.0.0.1:{port}", ca=ca, filesystem="ext4"))
    assert done.returncode == 0, done.stderr + done.stdout
    assert (root / "usr/sbin/mkfs.ext4").exists()
    assert "__init__.py" in ran("chroot", str(root), "ls", "/opt/kedge/agent/current/agent")
    believed = (root / "etc/kedge/software-believed.pem").read_text()
    assert believed.count("BEGIN CERTIFICATE") > 50, "those of the image as well"


def test_software_json_names_every_package_the_vm_may_lack() -> None:
    mirror = Mirror({"/agent.tar.gz": _an_agent()})
    text = user_data(
        "{}", kafka_version="4.2.0", software=software(mirror, "http://m"), packet_filter="flush ruleset\n"
    )
    files = {one["path"]: one["content"] for one in yaml.safe_load(text)["write_files"]}
    told = json.loads(files["/etc/kedge/software.json"])["packages"]
    assert told == {"a-java": "a-jre-headless", "mkfs.xfs": "xfsprogs", "nft": "nftables"}


def a_ca(folder: Path) -> tuple[str, ssl.SSLContext]:
    """A CA, and the TLS of a server at 127.0.0.1 that it signed."""
    now, key = datetime.now(UTC), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a mirror's CA")])

    def certificate(subject: x509.Name, of: ec.EllipticCurvePrivateKey, *, is_ca: bool) -> x509.Certificate:
        made = x509.CertificateBuilder().subject_name(subject).issuer_name(name).public_key(of.public_key())
        made = made.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(hours=1))
        made = made.not_valid_after(now + timedelta(hours=1))
        made = made.add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        if not is_ca:
            names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
            made = made.add_extension(names, critical=False)
        return made.sign(key, hashes.SHA256())

    own = ec.generate_private_key(ec.SECP256R1())
    server = certificate(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mirror")]), own, is_ca=False)
    pem = serialization.Encoding.PEM
    (folder / "server.pem").write_bytes(
        own.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + server.public_bytes(pem)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    return certificate(name, key, is_ca=True).public_bytes(pem).decode(), context
