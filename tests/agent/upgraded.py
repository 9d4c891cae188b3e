"""Agents to upgrade to, for tests: this very one under another version, or one that is broken; signed and served."""

import base64
import hashlib
import io
import tarfile
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agent.platforms import MARK, own_platform
from agent.wire import AgentBuild, AgentOrder, signed_text
from tests.agent.agent_vm import REPOSITORY


def agent_archive(path: Path, version: str, *, main: str = "", built_for: str = "") -> Path:
    """The agent's modules as an archive, without packages: those are the interpreter's own. `main` instead of its own
    `__main__`; `built_for`: what its mark says, none as in those of earlier releases."""
    with tarfile.open(path, "w:gz") as tar:
        for source in sorted((REPOSITORY / "agent").rglob("*.py")):
            name, body = str(source.relative_to(REPOSITORY)), source.read_bytes()
            if name == "agent/__init__.py":
                body = f'__version__ = "{version}"\n'.encode()
            elif name == "agent/__main__.py" and main:
                body = main.encode()
            entry = tarfile.TarInfo(name)
            entry.size = len(body)
            tar.addfile(entry, io.BytesIO(body))
        if built_for:
            entry = tarfile.TarInfo(MARK)
            entry.size = len(built_for)
            tar.addfile(entry, io.BytesIO(built_for.encode()))
    return path


class Mirror:
    """Serves a folder on a loopback address. `asked` are the names that were fetched."""

    def __init__(self, folder: Path, host: str = "127.0.40.2") -> None:
        self.folder = folder
        self.asked: list[str] = []
        folder.mkdir(parents=True, exist_ok=True)
        mirror = self

        class Handler(SimpleHTTPRequestHandler):
            def __init__(self, *args: object) -> None:
                super().__init__(*args, directory=str(folder))  # type: ignore[arg-type]

            def do_GET(self) -> None:
                mirror.asked.append(self.path.removeprefix("/"))
                super().do_GET()

            def log_message(self, *_: object) -> None:
                """Silent."""

        self._http = ThreadingHTTPServer((host, 0), Handler)
        self.url = f"http://{host}:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


class Signer:
    """A key, and orders that are signed by it."""

    def __init__(self) -> None:
        self._key = Ed25519PrivateKey.generate()

    @property
    def public(self) -> str:
        raw = self._key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        return base64.b64encode(raw).decode()

    def order(
        self, archive: Path, version: str, url: str, *, number: str = "o-1", within_s: float = 60.0
    ) -> AgentOrder:
        body, platform = archive.read_bytes(), own_platform()
        sha256 = hashlib.sha256(body).hexdigest()
        signature = base64.b64encode(self._key.sign(signed_text(version, platform, sha256))).decode()
        build = AgentBuild(platform=platform, url=url, sha256=sha256, size_bytes=len(body), signature=signature)
        return AgentOrder(id=number, version=version, key=self.public, builds=(build,), report_within_s=within_s)
