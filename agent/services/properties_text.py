"""Settings as `java.util.Properties` reads them. Pure."""

from collections.abc import Mapping


def section(title: str, values: Mapping[str, str]) -> str:
    """Lines below a comment, each with its end."""
    return "".join([f"# {title}\n", *(f"{_escaped(k)}={_escaped(v)}\n" for k, v in values.items())])


def _escaped(text: str) -> str:
    """A line break in a value may not become a line of its own."""
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"\\{escaped}" if escaped.startswith((" ", "\t")) else escaped
