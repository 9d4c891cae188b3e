"""One `git` process: arguments as a list, no shell, an environment made here, bounds on time, output and disk."""

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from agent.exit_reason import exit_reason
from controlplane.background.git_sync.faults import SourceFault, Stopped
from events.spec.problems import shorten

_LOOK_EVERY_S = 0.05


@dataclass(frozen=True, slots=True)
class GitLimits:
    """What one look at a repository may cost."""

    seconds: float = 60.0
    """For one git command."""
    clone_bytes: int = 512 * 1024 * 1024
    output_bytes: int = 64 * 1024 * 1024
    files: int = 5000
    commits: int = 20_000
    """How far back the last applied commit is looked for."""


@dataclass(frozen=True, slots=True)
class GitAnswer:
    """What git said. `code` is its exit code."""

    code: int
    output: bytes
    errors: str


class Child:
    """Runs git for one clone. Every process is ended, with those it started, before `run` returns."""

    def __init__(
        self,
        folder: Path,
        limits: GitLimits,
        *,
        stop: threading.Event,
        program: str = "git",
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._limits = limits
        self._stop = stop
        self._program = program
        self._monotonic_s = monotonic_s

    def run(
        self, arguments: Sequence[str], environ: Mapping[str, str], *, given: bytes = b"", program: str = ""
    ) -> GitAnswer:
        """Runs `git ARGUMENTS`, or another `program`, with `given` on its standard input.

        Raises SourceFault at a limit, Stopped.
        """
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as asked:
            asked.write(given)
            asked.seek(0)
            try:
                process = subprocess.Popen(
                    [program or self._program, *arguments],
                    stdin=asked,
                    stdout=output,
                    stderr=errors,
                    env=dict(environ),
                    cwd="/",
                    start_new_session=True,
                )
            except OSError as error:
                message = f"`{self._program}` cannot be run: {error.strerror}"
                raise SourceFault("GitMissing", message, "Install git 2.30 or later where the server runs.") from error
            try:
                code = self._watch(process, (output, errors), arguments)
            finally:
                _end(process)
            return GitAnswer(code, _text(output), _text(errors).decode("utf-8", "replace"))

    def _watch(self, process: subprocess.Popen[bytes], outputs: Sequence[IO[bytes]], arguments: Sequence[str]) -> int:
        until_s = self._monotonic_s() + self._limits.seconds
        while True:
            try:
                return process.wait(_LOOK_EVERY_S)
            except subprocess.TimeoutExpired:
                self._refuse_excess(outputs, until_s, arguments)

    def _refuse_excess(self, outputs: Sequence[IO[bytes]], until_s: float, arguments: Sequence[str]) -> None:
        if self._stop.is_set():
            raise Stopped
        if self._monotonic_s() > until_s:
            message = f"git was not done after {self._limits.seconds:g} s ({_verb(arguments)})"
            raise SourceFault("TimedOut", message, "Is the repository reachable and not too large? It is tried again.")
        if sum(os.fstat(file.fileno()).st_size for file in outputs) > self._limits.output_bytes:
            raise SourceFault("TooLarge", f"git wrote more than {self._limits.output_bytes} bytes", _SMALLER)
        if bytes_in(self._folder) > self._limits.clone_bytes:
            raise SourceFault("TooLarge", f"the clone grew over {self._limits.clone_bytes} bytes", _SMALLER)


_SMALLER = "Keep specs in a repository of their own: they are text."


def bytes_in(folder: Path) -> int:
    """What the files of a clone take, bytes. Files that vanish meanwhile count nothing."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(root, name)).st_size
            except FileNotFoundError:
                continue
    return total


def refusal(answer: GitAnswer, *, secrets: Sequence[str] = ()) -> str:
    """What git complained of, on one line, without what may be a secret. Its own word goes before what it repeats of a
    server's."""
    errors = answer.errors
    for secret in secrets:
        errors = errors.replace(secret, "***")
    lines = [line.strip() for line in errors.splitlines()]
    line_ = next((line for line in lines if line.startswith(("fatal:", "error:"))), "")
    return shorten(line_, 300) or exit_reason(errors, most=300).words or f"git ended with code {answer.code}"


def _verb(arguments: Sequence[str]) -> str:
    known = ("fetch", "ls-remote", "ls-tree", "cat-file", "log", "merge-base", "init", "rev-parse")
    return next((word for word in arguments if word in known), "git")


def _text(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process that still runs, and those it started: they are a group of their own."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
