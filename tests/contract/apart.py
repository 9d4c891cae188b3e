"""Loop and portal as processes of their own, each as its own Unix user and by its own role: needs root."""

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.contract.server_process import ServerProcess, eventually
from tests.databases import APP, PORTAL, as_role

DEADLINE_S = 60.0
LOOP_USER, PORTAL_USER = 61001, 61002


@dataclass
class Part:
    """A loop or a portal: its process, and a client with the token of its home."""

    home: Path
    process: ServerProcess
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        threading.Thread(target=self._read, daemon=True).start()

    def wait_until_it_listens(self) -> "Part":
        eventually(lambda: any(":listening on " in line for line in self.lines) or self._is_over(), self)
        said = [line.split(":listening on ")[1].split(",")[0] for line in self.lines if ":listening on " in line]
        assert said, self.log
        self.client = httpx.Client(base_url=said[0], trust_env=False, timeout=DEADLINE_S, headers=self.bearer)
        return self

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {(self.home / 'token').read_text().strip()}"}

    @property
    def log(self) -> str:
        return "".join(self.lines)

    def end(self, number: int = signal.SIGKILL) -> int:
        self.process.send_signal(number)
        return self.process.wait(DEADLINE_S)

    def _is_over(self) -> bool:
        return self.process.poll() is not None

    def _read(self) -> None:
        for line in self.process.stderr:
            self.lines.append(line)


@dataclass
class Houses:
    """Where both keep their files, for one database."""

    root: Path
    database: str
    parts: list[Part] = field(default_factory=list)

    def home(self, name: str, user: int) -> Path:
        home = self.root / name
        if not home.exists():
            home.mkdir(mode=0o700)
            os.chown(home, user, user)
        return home

    def loop(self) -> Part:
        return self.begun("loop", LOOP_USER, as_role(self.database, APP), KEDGE_TERRAFORM_STATE="http")

    def portal(self, *, user: int = PORTAL_USER, role: str = PORTAL) -> Part:
        return self.begun("portal", user, as_role(self.database, role))

    def begun(self, name: str, user: int, database: str, **settings: str) -> Part:
        home = self.home(name, user)
        environ = {"PATH": os.environ["PATH"], "KEDGE_ONLY": name, "KEDGE_DATABASE_URL": database, **settings}
        self.parts.append(Part(home, ServerProcess(str(home), environ, user=user)))
        return self.parts[-1]


@contextmanager
def houses_on(database: str) -> Iterator[Houses]:
    """Below a folder that every user gets to: pytest's own are one user's."""
    root = Path(tempfile.mkdtemp(prefix="kedge-apart-"))
    root.chmod(0o755)
    built = Houses(root, database)
    try:
        yield built
    finally:
        for part in built.parts:
            if part.process.poll() is None:
                part.end()
        shutil.rmtree(root)
