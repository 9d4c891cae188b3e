"""Running Terraform: python-terraform builds the arguments, everything about the process is ours.

The library's own `cmd()` cannot set an environment, stream, time out or be interrupted, and its shortcuts add
arguments that today's Terraform refuses; so `cmd()` is overridden and its shortcuts are not used.
"""

import ctypes
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from python_terraform import IsFlagged, Terraform

from providers.errors import RunInterrupted, TerraformFailed
from providers.tf.initialised import Initialised
from providers.tf.progress import OnProgress, ProgressKind, parse_line
from providers.tf.workspace import CLI_CONFIGURATION, Workspace

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)

_POLL_S = 0.005
"""A run is three commands of a tenth of a second each, and all that while nothing else of its roll goes on."""

_READ_REST_S = 5.0


@dataclass(slots=True)
class CommandResult:
    """How one command ended. `errors` are Terraform's own words, one per diagnostic."""

    exit_code: int
    stdout: str = ""
    stderr: str = ""
    errors: list[str] = field(default_factory=list)


class TerraformRunner(Terraform):  # type: ignore[misc]  # python-terraform has no types
    """One workspace, one thread. Raises `TerraformFailed` on a bad exit, `RunInterrupted` on stop or timeout.

    `timeout_s` bounds each command. After a SIGINT Terraform saves its state and ends at once; one that is still
    there after `kill_after_s` is killed with its group.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        environment: Mapping[str, str],
        stop: threading.Event,
        on_progress: OnProgress,
        timeout_s: float,
        kill_after_s: float = 15.0,
        binary: str = "terraform",
    ) -> None:
        super().__init__(working_dir=str(workspace.directory), terraform_bin_path=binary)
        self.workspace = workspace
        self._environment = dict(environment)
        self._stop = stop
        self._on_progress = on_progress
        self._timeout_s = timeout_s
        self._kill_after_s = kill_after_s
        self._data = workspace.directory / ".terraform"
        self._planned = False

    @contextmanager
    def prepared(self, initialised: Initialised) -> Iterator[None]:
        """The commands of a run go into this block: `init` was done, by this run or, where it still fits, another.

        `init` is of backend and module, with no network for built-in providers, and none where there is a mirror in a
        folder. A run that fails before it has a plan puts what it was given in doubt, and the next one begins with an
        `init`. Raises `ProviderNotMirrored` where the mirror may be why `init` failed.
        """
        mirror, plugins = initialised.mirror, self._environment.get("XDG_DATA_DIRS", "")
        if mirror is not None:
            self.workspace.cli_config.write_text(CLI_CONFIGURATION + mirror.configuration(plugins))

        def init() -> None:
            try:
                self.cmd("init", input=False, no_color=IsFlagged)
            except TerraformFailed as error:
                if mirror is None or self.workspace.module is None:
                    raise
                explained = mirror.explained(error, self.workspace.module, plugins)
                raise explained from (None if explained is error else error)

        opened = initialised.opened(self.workspace, binary=self.terraform_bin_path, plugins=plugins, init=init)
        with opened as given:
            self._data = given.data
            try:
                yield
            except TerraformFailed:
                if not self._planned:
                    given.doubt()
                raise

    def plan(self, *, refresh: bool = True, destroy: bool = False, refresh_only: bool = False) -> dict[str, Any]:
        """Save a plan and return it as data (`show -json`, format 1.2). Imports are read from the cloud in any case.

        `destroy`: of deleting all the state holds. `refresh_only`: of writing down what is there, and no more.
        """
        more: dict[str, Any] = {} if refresh else {"refresh": False}
        if destroy:
            more["destroy"] = IsFlagged
        if refresh_only:
            more["refresh_only"] = IsFlagged
        self.cmd("plan", out=str(self.workspace.plan), input=False, json=IsFlagged, **more)
        _, stdout, _ = self.cmd("show", str(self.workspace.plan), json=IsFlagged)
        self._planned = True
        value = json.loads(stdout)
        return value if isinstance(value, dict) else {}

    def apply(self) -> None:  # the library's own has arguments we must not use
        """Apply exactly the saved plan; Terraform itself refuses it if the state moved on in between."""
        self.cmd("apply", str(self.workspace.plan), input=False, json=IsFlagged)

    def forget(self, addresses: tuple[str, ...]) -> None:
        """Take resources out of the state; nothing happens to what they stand for."""
        if addresses:
            self.cmd("state rm", *addresses)

    def untaint(self, address: str) -> None:
        self.cmd("untaint", address)

    def push_state(self, path: Path) -> None:
        self.cmd("state push", str(path))

    def cmd(self, cmd: str, *args: str, **kwargs: Any) -> tuple[int, str, str]:
        """Run a command and return (exit code, stdout, stderr), like the library; see the class for what it raises."""
        argv = self.generate_cmd_string(cmd, *args, **kwargs)
        outcome = self._run(argv, streamed=kwargs.get("json") is IsFlagged and cmd in ("plan", "apply"))
        if outcome.exit_code != 0:
            told = outcome.errors or [line for line in (outcome.stderr or outcome.stdout).splitlines() if line.strip()]
            raise TerraformFailed(f"terraform {cmd} ended with exit code {outcome.exit_code}", told[:40])
        return outcome.exit_code, outcome.stdout, outcome.stderr

    def _run(self, argv: list[str], *, streamed: bool) -> CommandResult:
        if self._stop.is_set():
            raise RunInterrupted(f"stopped before {' '.join(argv[:2])}")
        process = subprocess.Popen(
            argv,
            cwd=self.working_dir,
            env=self._clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            umask=0o077,
            process_group=0,
            preexec_fn=_die_with_parent(os.getpid()),
        )
        outcome = CommandResult(exit_code=0)
        readers = (
            _reader(process.stdout, lambda line: self._take(line, outcome, streamed=streamed)),
            _reader(process.stderr, lambda line: _append(outcome, line)),
        )
        reason = self._wait(process)
        outcome.exit_code = process.wait()
        for reader in readers:
            reader.join(_READ_REST_S)
        if reason is not None:
            raise RunInterrupted(f"{' '.join(argv[:2])}: {reason}; its state is saved")
        return outcome

    def _take(self, line: str, outcome: CommandResult, *, streamed: bool) -> None:
        if not streamed:
            outcome.stdout += line
            return
        progress = parse_line(line)
        if progress is None:
            return
        if progress.kind is ProgressKind.ERROR:
            outcome.errors.append(progress.message)
        self._on_progress(progress)

    def _wait(self, process: subprocess.Popen[str]) -> str | None:
        """Wait for the end; None, or why it was interrupted."""
        deadline = time.monotonic() + self._timeout_s
        while process.poll() is None:
            if self._stop.wait(_POLL_S):
                return self._interrupt(process, "asked to stop")
            if time.monotonic() >= deadline:
                return self._interrupt(process, f"no end after {self._timeout_s:.0f} s")
        return None

    def _interrupt(self, process: subprocess.Popen[str], reason: str) -> str:
        """SIGINT to Terraform alone (it ends its provisioners itself), SIGKILL to the group if that is not enough."""
        process.send_signal(signal.SIGINT)
        try:
            process.wait(self._kill_after_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return f"{reason}, killed after {self._kill_after_s:.0f} s"
        return reason

    def _clean_environment(self) -> dict[str, str]:
        """Nothing is inherited but PATH and TMPDIR: a TF_* variable of the person's shell must not change a run."""
        inherited = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
        return {
            **inherited,
            "HOME": str(self.workspace.directory),
            "LC_ALL": "C.UTF-8",
            **self._environment,
            "TF_CLI_CONFIG_FILE": str(self.workspace.cli_config),
            "TF_DATA_DIR": str(self._data),
            "TF_IN_AUTOMATION": "1",
            "TF_INPUT": "0",
            "CHECKPOINT_DISABLE": "1",
        }


def _die_with_parent(parent: int) -> Callable[[], None]:
    """For the child between fork and exec: SIGKILL when the thread that started it ends (prctl(2)).

    The arguments are made before the fork, so that the child only calls into libc. A parent that died before
    the call is noticed by its pid.
    """
    prctl = _LIBC.prctl

    def in_child() -> None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return in_child


def _reader(stream: IO[str] | None, take: Callable[[str], None]) -> threading.Thread:
    def read() -> None:
        for line in stream or ():
            take(line)

    thread = threading.Thread(target=read, name="terraform-output", daemon=True)
    thread.start()
    return thread


def _append(outcome: CommandResult, line: str) -> None:
    outcome.stderr += line
