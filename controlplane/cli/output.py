"""Machine output: every document names its schema, so that a script can tell when a release changes it."""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import yaml
from pydantic import BaseModel
from rich.console import RenderableType

from controlplane.api.schemas.commands import CommandOut
from controlplane.cli.session import Session
from controlplane.runtime.untrusted_text import escaped_json

API_VERSION = "kedge.cli/v1"
"""Version of what `-o json` and `-o yaml` print. Fields may be added to a version; none is renamed or dropped."""


class ListFormat(StrEnum):
    """Forms of what has rows."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


class Format(StrEnum):
    """Forms of everything else."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


def document(kind: str, content: BaseModel | Mapping[str, Any]) -> dict[str, Any]:
    """A document with its schema in front: `{"apiVersion": "kedge.cli/v1", "kind": KIND, ...}`."""
    fields = content.model_dump(mode="json") if isinstance(content, BaseModel) else dict(content)
    return {"apiVersion": API_VERSION, "kind": kind, **fields}


def write_document(session: Session, shape: str, content: Mapping[str, Any]) -> None:
    """A whole document as `json` or `yaml`."""
    session.write(as_yaml(content) if shape == Format.YAML else as_json(content, indent=2))


def show_or_write(session: Session, shape: Format, content: Mapping[str, Any], *lines: RenderableType) -> None:
    """Lines for a person, or the whole document where a form for programs was asked for."""
    if shape is Format.TEXT:
        session.show(*lines)
    else:
        write_document(session, shape, content)


def show_answer(session: Session, answer: CommandOut, shape: Format) -> None:
    """What the server said to a command."""
    show_or_write(session, shape, document("Command", answer), answer.sentence)


def write_record(session: Session, shape: str, content: Mapping[str, Any]) -> None:
    """One document of many: one line of JSON, or a YAML document with its separator."""
    session.write(f"---\n{as_yaml(content)}" if shape == Format.YAML else as_json(content))


def as_json(content: Mapping[str, Any], *, indent: int | None = None) -> str:
    """JSON that reads well and steers no terminal, whatever program shows it."""
    return escaped_json(json.dumps(content, indent=indent, ensure_ascii=False))


def as_yaml(content: Mapping[str, Any]) -> str:
    """YAML in the order of the fields."""
    return str(yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True, width=100))
