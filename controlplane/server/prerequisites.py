"""What Kedge needs of the machine, checked before anything else. Standard library only: it runs before set-up.

Run as a script: prints what is missing, why it is needed and how to get it; exit status 1 when anything is.
"""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Tool:
    """A program of the machine. `pattern` finds its version in what `command` prints."""

    name: str
    command: tuple[str, ...]
    pattern: str
    least: tuple[int, ...]
    purpose: str
    how: str


TOOLS = (
    Tool(
        "Java", ("java", "-version"), r'version "(\d+(?:\.\d+)*)', (17,), "Kafka and Spark run on it", "openjdk-17-jdk"
    ),
    Tool(
        "Terraform",
        ("terraform", "version"),
        r"Terraform v(\d+\.\d+\.\d+)",
        (1, 5),
        "makes and deletes VMs",
        "terraform 1.5 or later from its vendor",
    ),
    Tool("Maven", ("mvn", "-version"), r"Apache Maven (\d+\.\d+\.\d+)", (3, 6), "fetches Kafka's jars", "maven"),
)


def missing() -> list[str]:
    """What is missing, one sentence each; empty when all is there."""
    found: list[str] = []
    if not sys.platform.startswith("linux"):
        found.append(
            f"Linux: this is {sys.platform}; the `local` cloud uses process groups and loopback addresses of Linux."
        )
    if sys.version_info[:2] < (3, 11):  # noqa: UP036 - this file is also run by whatever `python3` is
        found.append(f"Python 3.11 or later: this is {sys.version.split()[0]}. Install python3.11 and its venv module.")
    return found + [problem for tool in TOOLS if (problem := _problem(tool))]


def _problem(tool: Tool) -> str:
    wanted = ".".join(map(str, tool.least))
    if shutil.which(tool.command[0]) is None:
        return (
            f"{tool.name} {wanted} or later: `{tool.command[0]}` is not on PATH ({tool.purpose}). Install {tool.how}."
        )
    run = subprocess.run(tool.command, capture_output=True, text=True, timeout=60, check=False)
    version = re.search(tool.pattern, run.stdout + run.stderr)
    if version is None:
        return f"{tool.name}: `{' '.join(tool.command)}` printed no version (exit {run.returncode}). Is it broken?"
    numbers = tuple(int(part) for part in version.group(1).split("."))
    if numbers < tool.least:
        return f"{tool.name} {wanted} or later: {version.group(1)} is installed ({tool.purpose}). Install {tool.how}."
    return ""


def main() -> int:
    """Prints what is missing. Exit status 1 when anything is."""
    problems = missing()
    for problem in problems:
        print(f"missing: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
