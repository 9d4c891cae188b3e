"""The tools of the machine that the agent uses on disks and addresses: util-linux, e2fsprogs or xfsprogs, iproute2."""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.exit_reason import exit_reason

_LIMIT_S = 120.0


@dataclass(frozen=True, slots=True)
class ToolResult:
    """How a tool ended, and what it said."""

    code: int
    out: str = ""
    err: str = ""


Tool = Callable[[Sequence[str]], ToolResult]
"""Runs a command to its end. Raises `ToolFailed` when it cannot be run, or does not end."""


class ToolFailed(Exception):
    """A tool is missing, hangs or refuses. Nothing was done, or not all of it: look again before anything else."""


def run_tool(command: Sequence[str]) -> ToolResult:
    """The real `Tool`: no shell, no terminal to ask on, two minutes at most."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
    except FileNotFoundError:
        raise ToolFailed(f"{command[0]} is not on this VM: its image needs it") from None
    except subprocess.TimeoutExpired:
        raise ToolFailed(f"{' '.join(command)} did not end within {_LIMIT_S:.0f} s") from None
    except OSError as error:
        raise ToolFailed(f"{command[0]} could not be run: {error}") from None
    return ToolResult(done.returncode, done.stdout, done.stderr)


def output_of(run: Tool, command: Sequence[str]) -> str:
    """What the command prints. Raises `ToolFailed` with the reason it gives when it fails."""
    answer = run(command)
    if answer.code != 0:
        words = exit_reason(answer.err or answer.out, most=300).words
        raise ToolFailed(f"{' '.join(command)} failed with exit code {answer.code}: {words}")
    return answer.out
