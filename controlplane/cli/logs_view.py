"""Lines of logs for people."""

from datetime import UTC

from rich.text import Text

from controlplane.api.schemas.logs import LogLineOut
from controlplane.runtime.styled_text import styled

_TONES = {"WARN": "yellow", "ERROR": "red", "FATAL": "bold red"}


def log_line(line: LogLineOut) -> Text:
    """`2026-01-02 03:04:05.678Z  brokers-a-0  broker  WARN  ...`, what follows of a stack trace below it."""
    at = line.at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    line_ = styled(f"{at}Z", "dim").append_text(styled(f"  {line.node}  {line.service:<10}  "))
    line_.append_text(styled(f"{line.level or '-':<5}", _TONES.get(line.level, "")))
    return line_.append_text(styled(f"  {_words(line).expandtabs(4)}"))


def _words(line: LogLineOut) -> str:
    """The text without the time and level it begins with, which stand before it already."""
    head, found, rest = line.text.partition(f" {line.level} ") if line.level else ("", "", "")
    return rest if found and "\n" not in head and len(head) <= len("[2026-01-02 03:04:05,678]") else line.text
