"""A Debian that boots: systemd and cloud-init in namespaces of their own, on the machine's network, with a real disk.

Everything is ended by its process id, and every loop device and address that was made is taken away again.
"""

import json
import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_DOWN_S = 60.0
_NSPAWN = ("systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--console=read-only")
_AS_CONTAINER = ("--boot",)
_AS_VM = (
    "--capability=CAP_NET_ADMIN",
    "--kill-signal=SIGRTMIN+3",
    "--",
    "/usr/bin/env",
    "--unset=container",
    "/lib/systemd/systemd",
)
"""Its first process has no word of a container: cloud-init would not ask the machine's firmware then."""


NO_LANGUAGES = "locale: false\n"
"""For cloud-init: this root has none, and a stage of it that fails may hang for good. Where control groups are of
version 1, systemd in a namespace is not told that the last process of a unit is over."""


def ran(*command: str) -> str:
    """What a command printed. Raises AssertionError with what it said."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr or done.stdout}"
    return done.stdout.strip()


@dataclass
class LoopDisk:
    """A block device over a sparse file: what a cloud attaches to a VM."""

    image: Path
    size_gib: int
    device: str = ""

    def attach(self) -> "LoopDisk":
        if not self.image.exists():
            with self.image.open("wb") as image:
                image.truncate(self.size_gib * 2**30)
        self.device = ran("losetup", "--find", "--show", str(self.image))
        return self

    def detach(self) -> None:
        if self.device:
            ran("losetup", "--detach", self.device)
            self.device = ""


@dataclass
class LoopbackAddress:
    """An address on the loopback interface that `ip address` lists, as a VM's own would be."""

    address: str

    def bind(self) -> "LoopbackAddress":
        ran("ip", "address", "replace", f"{self.address}/32", "dev", "lo")
        return self

    def release(self) -> None:
        ran("ip", "address", "del", f"{self.address}/32", "dev", "lo")


def unpacked(archive: Path, folder: Path) -> Path:
    """The root of a Debian, for `Root` to be laid over."""
    folder.mkdir(parents=True)
    ran("tar", "--extract", "--file", str(archive), "--directory", str(folder), "--numeric-owner")
    return folder


@dataclass
class Root:
    """A root filesystem of one machine's own over one that many share."""

    below: Path
    folder: Path
    path: Path = field(init=False)

    def mount(self) -> "Root":
        self.path = self.folder / "root"
        for one in (self.path, self.folder / "changes", self.folder / "work"):
            one.mkdir(parents=True)
        told = f"lowerdir={self.below},upperdir={self.folder / 'changes'},workdir={self.folder / 'work'}"
        ran("mount", "-t", "overlay", "overlay", "-o", told, str(self.path))
        return self

    def unmount(self) -> None:
        ran("umount", str(self.path))


@dataclass
class DebianVm:
    """One machine on a root filesystem."""

    root: Path
    name: str
    namespace: str = ""
    """Of its own network; "": the machine's."""
    console: Path = field(init=False)
    _process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.console = self.root.with_name(f"{self.name}.console")

    def give(self, user_data: str) -> None:
        """What a cloud tells its VM: cloud-init's NoCloud seed."""
        seed = self.root / "var/lib/cloud/seed/nocloud"
        seed.mkdir(parents=True, exist_ok=True)
        (seed / "user-data").write_text(user_data)
        (seed / "meta-data").write_text(json.dumps({"instance-id": self.name, "local-hostname": self.name}))
        # The machine's network is shared and stays as it is.
        (self.root / "etc/cloud/cloud.cfg.d/99-here.cfg").write_text(
            f"network: {{config: disabled}}\ndatasource_list: [NoCloud]\n{NO_LANGUAGES}"
        )

    def boot(self, *devices: str) -> None:
        """Boots with these block devices attached."""
        told = [word for device in devices for word in ("--bind", device)]
        there = ("nsenter", f"--net=/run/netns/{self.namespace}", "--") if self.namespace else ()
        told += _AS_VM if self.namespace else _AS_CONTAINER
        with self.console.open("ab") as sink:
            self._process = subprocess.Popen(
                (*there, *_NSPAWN, "--directory", str(self.root), "--machine", self.name, *told),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
            )

    def power_button(self) -> None:
        """An orderly shutdown, as a cloud's `stop` is."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(_DOWN_S)
        self._process = None

    def power_cut(self) -> None:
        """Off, as if somebody had pulled the plug: nothing of it runs any more."""
        if self._process is not None:
            # With its first process the kernel ends all others. systemd-nspawn killed alone leaves them running.
            if first := self.init_pid():
                os.kill(first, signal.SIGKILL)
            self._process.kill()
            self._process.wait(20)
            self._process = None

    def init_pid(self) -> int:
        """Its first process as this machine counts; 0 while there is none."""
        if self._process is None:
            return 0
        try:
            children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        except FileNotFoundError:
            return 0
        return int(children[0]) if children else 0

    def processes(self) -> list[Path]:
        """The folders below /proc of what runs in it, as this machine counts; other machines' are not among them."""
        own = os.readlink(f"/proc/{self.init_pid()}/ns/pid")
        there = []
        for proc in Path("/proc").glob("[0-9]*"):
            with suppress(FileNotFoundError, PermissionError):  # over by now, or not to be looked at
                if os.readlink(proc / "ns/pid") == own:
                    there.append(proc)
        return there

    def end(self) -> None:
        """Whatever it does: gone."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(20)
                self._process = None
            except subprocess.TimeoutExpired:
                self.power_cut()

    def text(self, path: str) -> str:
        """A file inside, "" while there is none."""
        found = self.root / path.lstrip("/")
        return found.read_text() if found.exists() else ""

    @property
    def is_on(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def words(self) -> str:
        """The last of what its console showed and its agent logged."""
        log = self.text("/var/lib/kedge-agent/logs/agent.log") + self.text("/var/lib/kedge-agent/logs/controller.log")
        shown = self.console.read_text(errors="replace") if self.console.exists() else "(never switched on)"
        return f"{shown[-3000:]}\n{log[-3000:]}"
