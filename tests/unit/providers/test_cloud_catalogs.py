"""Every cloud's catalogue: each figure has a source and a date, or is `unknown`."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import providers

FILES: dict[str, dict[str, Any]] = {
    path.parent.name: json.loads(path.read_text())
    for path in sorted(Path(providers.__path__[0]).glob("*/catalog.json"))
}


def test_every_cloud_but_the_local_one_has_a_catalogue() -> None:
    assert set(FILES) == {"aws", "azure", "digitalocean", "google", "hetzner", "upcloud"}


@pytest.mark.parametrize("cloud", FILES)
def test_every_source_is_named_with_the_day_it_was_read(cloud: str) -> None:
    for source in FILES[cloud]["sources"].values():
        assert source["what"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", source["read"])


@pytest.mark.parametrize("part", ["machines", "disks"])
@pytest.mark.parametrize("cloud", FILES)
def test_every_figure_has_a_source_or_is_unknown(cloud: str, part: str) -> None:
    for name, entry in FILES[cloud][part].items():
        assert entry["source"] in FILES[cloud]["sources"], name
        assert all(isinstance(v, (int, float, bool)) or v for v in entry.values()), name
        assert entry["price_per_month"] == "unknown", "prices need a source of their own"
