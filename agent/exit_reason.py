"""Why a program ended, from what it wrote.

The last words of a program are rarely its reason: Java ends with the frames of its stack, Maven with hints, and only
Python names the exception last. So the reason is looked for by its form, and what is left out is left out at the end.
Forms of Kafka 3.8 to 4.3, of ZooKeeper 3.8, of the JVM, and of the tools a VM or a server runs.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.masking import masked

MOST_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class ExitReason:
    """`words` are the program's own, in one line; "" where it wrote nothing. `is_configuration`: it refuses what it was
    told to run with, so that another try, or another machine, ends the same way."""

    words: str
    is_configuration: bool = False


def exit_reason(output: str, *, most: int = MOST_CHARACTERS) -> ExitReason:
    """Of a whole output, or of that part of a log that is of one run; at most `most` characters of words, and no
    secrets: they are reported, and shown to people."""
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    if not lines:
        return ExitReason("")
    if any(line.startswith(_PYTHON) for line in lines):
        return ExitReason(_shortened(_last_of_python(lines), most))
    first = _where(lines)
    if first is None:
        return ExitReason(_both_ends(" ".join(lines), most))
    trace = _trace(lines, first)
    said = _without_stamp(lines[first])
    causes = [m["words"] for line in trace if (m := _CAUSE.match(line))]
    thrown = [] if _THROWN.match(said) else [t for line in trace[:1] if (t := _thrown(line))]
    words = ": ".join([said, *thrown, *causes[-1:]])
    return ExitReason(_shortened(words, most), _is_configuration(words, trace))


_PYTHON = "Traceback (most recent call last)"
_STAMP = re.compile(r"^(?:\[[^\]]*\d\d:\d\d[^\]]*\]|\d[\d:.,/TZ-]*(?: [\d:.,]+)?) *(?:\[[^\]]*\] *)?")
"""The time a log line begins with, and the thread where one is named."""
_LEVEL = re.compile(r"^(?:ERROR|FATAL)\s+")
_LOGGER = re.compile(r"\s+\([\w.$]+\)$")
_THROWN = re.compile(
    r"(?:Exception in thread \"[^\"]*\" )?(?P<words>[A-Za-z_][\w.$]*(?:Exception|Error|Fault)\b(?::.*)?$)"
)
_CAUSE = re.compile(r"\s*Caused by: (?P<words>.*)")
_FRAME = re.compile(r"\s+at |\s*\.\.\. \d+ |\s*Suppressed: ")

_ENDS = re.compile(
    r"Exiting Kafka due to fatal exception|Fatal error during \w+ (?:startup|initialization)|exiting abnormally"
    r"|Encountered fatal fault|FATAL |Terminating due to |OutOfMemoryError|because all log dirs in .* have failed"
)
"""Lines in which a program says that it ends. What a log says before was no reason to end."""
_THROWS = re.compile(r"^Exception in thread |requirement failed|^[a-z][\w.$]*\.[A-Z][\w$]*(?:Exception|Error)(?::|$)")
_ERROR = re.compile(
    r"\bERROR\b|^E: |\b[Ee]rror:|\bfatal:|^Error occurred |^Invalid |^Unrecognized |^Could not "
    r"|^Improperly specified |^(?:Unexpected|Missing) \+/- setting | is outside the allowed range \["
)
"""In this order: of a log that has none of the first, a line that throws; else the first that calls itself an error."""

_CONFIGURES = re.compile(r"^\s+at \S*Config(?:\$\S*)?\.")
_REFUSES = re.compile(
    r"\bConfigException\b|\bInvalidConfigurationException\b"
    r"|^Invalid (?:maximum|initial) heap size|^Initial heap size set to a larger|^Unrecognized (?:VM )?option"
    r"|^Improperly specified VM option|^(?:Unexpected|Missing) \+/- setting|^\w+ \w+=\S+ is outside the allowed range"
    r"|\bVM option '\w+' is (?:experimental|diagnostic)|^Multiple garbage collectors selected|^Invalid -Xlog option"
    r"|^The Java thread stack size specified is|\bUnable to parse --add-"
)
_UNREACHED = re.compile(r"[Rr]esolvable|resolve")
"""A name that nobody resolves now is no fault of the setting that says it."""


def _where(lines: Sequence[str]) -> int | None:
    for form in (_ENDS, _THROWS, _ERROR):
        found = next((n for n, line in enumerate(lines) if form.search(line)), None)
        if found is not None:
            return found + 1 if _is_heading(lines, found) else found
    return None


def _is_heading(lines: Sequence[str], number: int) -> bool:
    """`Error occurred during initialization of VM`, `Exiting Kafka due to fatal exception`: what follows says why."""
    following = lines[number + 1] if number + 1 < len(lines) else ""
    if lines[number].startswith("Error occurred "):
        return bool(following)
    return "due to fatal exception" in lines[number] and _THROWN.match(following) is not None


def _trace(lines: Sequence[str], first: int) -> list[str]:
    """What belongs to that line: an exception below it, its frames and causes."""
    trace: list[str] = []
    for line in lines[first + 1 :]:
        if not (_FRAME.match(line) or _CAUSE.match(line) or (not trace and _THROWN.match(line))):
            break
        trace.append(line)
    return trace


def _thrown(line: str) -> str:
    found = _THROWN.match(line)
    return found["words"] if found else ""


def _without_stamp(line: str) -> str:
    text = line.strip()
    thrown = _THROWN.match(text)
    if thrown:
        return thrown["words"]
    return _LOGGER.sub("", _LEVEL.sub("", _STAMP.sub("", text)))


def _is_configuration(words: str, trace: Sequence[str]) -> bool:
    if _UNREACHED.search(words):
        return False
    if _REFUSES.search(words):
        return True
    return "IllegalArgumentException" in words and any(_CONFIGURES.match(line) for line in trace)


def _last_of_python(lines: Sequence[str]) -> str:
    begun = max(n for n, line in enumerate(lines) if line.startswith(_PYTHON))
    after = [line for line in lines[begun + 1 :] if not line[0].isspace()]
    return after[0] if after else lines[-1].strip()


def _both_ends(words: str, most: int) -> str:
    """Nothing tells where the reason is: programs begin with it, or end with it."""
    text = " ".join(masked(words).split())
    half = (most - 3) // 2
    return text if len(text) <= most else f"{text[:half]} … {text[-half:]}"


def _shortened(words: str, most: int) -> str:
    text = " ".join(masked(words).split())
    return text if len(text) <= most else f"{text[: most - 2]} …"
