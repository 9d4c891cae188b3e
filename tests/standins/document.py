"""What a provider's resources have, as `schemas/<cloud>.json` tells it; the stand-ins and the tests of modules read it.

An attribute is `[type, mode, ...]` with the modes `required`, `optional` and `computed`; types are Terraform's:
`string`, `set(string)`, `map(number)`. A block has `nesting` (`list`, `set` or `single`), `attributes` and `blocks`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMAS = Path(__file__).parent / "schemas"


@dataclass(frozen=True)
class Document:
    """One provider's schema. `source` says where it is from and which version of the provider it tells of."""

    cloud: str
    source: Mapping[str, str]
    provider: Mapping[str, Any]
    resources: Mapping[str, Mapping[str, Any]]


def document_of(cloud: str) -> Document:
    """The document of a cloud's provider."""
    told = json.loads((SCHEMAS / f"{cloud}.json").read_text())
    return Document(cloud, told["source"], told["provider"], told["resources"])
