"""A person's own mirror, as VMs of a plain image fetch from it: agent, Kafka and Jolokia behind HTTP."""

import hashlib
import http.server
import shutil
import tarfile
import threading
from functools import partial
from pathlib import Path

from controlplane.server.agent_bundle import write_bundle
from providers.software import Download, Software


def filled(folder: Path, cache: Path, *versions: str) -> Path:
    """The folder with what `software` names for these versions of Kafka."""
    folder.mkdir()
    for version in versions:
        kafka = cache / "kafka" / version / "libs"
        with tarfile.open(folder / f"kafka_2.13-{version}.tgz", "w") as archive:
            archive.add(kafka, f"kafka_2.13-{version}/libs", filter=_no_jolokia)
        jolokia = next(kafka.glob("jolokia-agent-jvm-*javaagent.jar"))
        shutil.copy(jolokia, folder / jolokia.name)
    write_bundle(folder)
    return folder


class Mirror:
    """A folder behind HTTP at an address of this machine."""

    def __init__(self, folder: Path, address: str) -> None:
        self.folder = folder
        handler = partial(_Quiet, directory=str(folder))
        self._server = http.server.ThreadingHTTPServer((address, 0), handler)
        self._url = f"http://{address}:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def software(self, *versions: str) -> Software:
        """The settings of that name."""
        (agent,) = self.folder.glob("kedge-agent-*.tar.gz")
        (jolokia,) = self.folder.glob("jolokia-*.jar")
        kafka = {version: self._download(self.folder / f"kafka_2.13-{version}.tgz") for version in versions}
        return Software(agent=self._download(agent), kafka=kafka, jolokia=self._download(jolokia))

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _download(self, path: Path) -> Download:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return Download.model_validate({"url": f"{self._url}/{path.name}", "sha256": digest})


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Silent: what went wrong stands on the VM's console."""


def _no_jolokia(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if "jolokia" in entry.name else entry
