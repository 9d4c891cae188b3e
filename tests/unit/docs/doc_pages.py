"""The pages people read, cut into the parts the tests ask about."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

PAGES = tuple(sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "terraform" / "README.md"]))

_FENCE = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*) -->\n)?^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
_LINK = re.compile(r"(?<!!)\[[^\]\n]+\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block. `mark` is the text of the comment right above it."""

    language: str
    body: str
    mark: str

    @property
    def lines(self) -> list[str]:
        return self.body.splitlines()


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(page: str) -> list[Block]:
    return [Block(m["language"], m["body"], m["mark"] or "") for m in _FENCE.finditer(page)]


def links(page: str) -> list[str]:
    """Targets of links, those in blocks of code left out."""
    return _LINK.findall(_FENCE.sub("", page))


def anchors(page: str) -> set[str]:
    """What a link to a heading of the page may say after `#`."""
    return {_anchor(heading) for heading in _HEADING.findall(_FENCE.sub("", page))}


def tables(page: str) -> Iterator[list[list[str]]]:
    """Every table as rows of cells, its head first, backticks kept."""
    rows: list[list[str]] = []
    for line in [*page.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows:
            yield [rows[0], *rows[2:]]
            rows = []


def table_headed(page: str, first_cell: str) -> list[list[str]]:
    """The rows below the head of the one table whose head begins with the cell."""
    found = [table[1:] for table in tables(page) if table[0][0] == first_cell]
    assert len(found) == 1, f"expected one table headed {first_cell!r}, found {len(found)}"
    return found[0]


def bare(cell: str) -> str:
    return cell.strip("`")


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")
