"""The manifest of an image: what went into it, by digests. Given back as a lock, it makes the same image again."""

import hashlib
import json
import uuid
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from controlplane.server.machine_images.packages import DebianPackage
from controlplane.server.machine_images.refusal import ImageRefused

_NAMESPACE = uuid.UUID("1b0f3a3e-6f0e-5b44-9d0c-2f5f0a7f4a11")
"""Ours, drawn once: identifiers that follow from inputs are made in it (RFC 9562, version 5)."""


class FileDigest(BaseModel):
    """A file by name and SHA-256."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    sha256: str


class Inputs(BaseModel):
    """All that decides an image's bytes. `epoch`: the time its files have at most, in seconds since 1970."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kafka: str
    architecture: str
    suite: str
    epoch: int
    size_mib: int
    agent: FileDigest
    jars: tuple[FileDigest, ...]
    packages: tuple[DebianPackage, ...] = ()
    tools: tuple[str, ...] = ()
    """The packages of the programs that make the disk, as files of Debian 13."""


class Manifest(BaseModel):
    """Beside the image, as NAME.manifest.json."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["kedge.image/v1"] = "kedge.image/v1"
    inputs: Inputs
    raw_sha256: str
    """Of the disk itself, whatever form it was written in."""
    files: tuple[FileDigest, ...]

    def text(self) -> str:
        """JSON, the same for the same manifest."""
        return json.dumps(self.model_dump(mode="json"), indent=1, sort_keys=True) + "\n"


def read_manifest(path: Path) -> Manifest:
    """One that was written beside an image. Raises `ImageRefused`."""
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ImageRefused(f"{path} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "it"
        raise ImageRefused(
            f"{path} is no manifest of an image: {where}: {first['msg']}",
            next_step="give NAME.manifest.json, which `kedge images build` writes beside an image",
        ) from None


def identifier(*parts: str) -> uuid.UUID:
    """A UUID that follows from these words."""
    return uuid.uuid5(_NAMESPACE, "/".join(parts))


def digest_of(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
