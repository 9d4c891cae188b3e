"""What every section of the settings is made of."""

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?", re.ASCII)


class Section(BaseModel):
    """A table of `kedge.toml`. Frozen; a key it does not know is refused. Times in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


def absolute(path: Path) -> Path:
    """From the directory the server is started in."""
    return path.expanduser().absolute()


AbsolutePath = Annotated[Path, AfterValidator(absolute)]


def is_host(text: str) -> bool:
    """Whether it is a host name, or an address that names one machine."""
    try:
        return not ip_address(text).is_unspecified
    except ValueError:
        return len(text) <= 253 and all(_LABEL.fullmatch(label) for label in text.split("."))
