"""A spec file as text, a document at a time: one is put in place of another, and every other byte stays. Pure."""

import re
from itertools import pairwise

from events.spec.document import load_documents

_MARK = re.compile(r"(?m)^---(?=[ \t\r\n]|\Z)")


class NotInFile(ValueError):
    """The file holds no such document that could be told from others. What now: edit the file by hand."""


def document_in(text: str, cluster: str) -> str:
    """The document that declares a cluster, comments and all, without the line `---`. Raises NotInFile."""
    parts = _parts(text)
    return _body(parts[_place(parts, cluster)])


def with_document(text: str, cluster: str, document: str) -> str:
    """The file with this document in place of the one that declares the cluster. Raises NotInFile.

    Where the file is broken its only document counts as the one that is meant.
    """
    parts = _parts(text)
    place = _place(parts, cluster)
    old = parts[place]
    mark = "---\n" if _MARK.match(old) else ""
    parts[place] = mark + document.strip("\n") + "\n"
    return "".join(parts)


def _parts(text: str) -> list[str]:
    """The text cut before each `---`: a line that begins so is never inside a document."""
    cuts = [0, *(found.start() for found in _MARK.finditer(text)), len(text)]
    return [text[begin:end] for begin, end in pairwise(cuts) if end > begin]


def _place(parts: list[str], cluster: str) -> int:
    found = [i for i, part in enumerate(parts) if cluster in _names(part)]
    if len(found) == 1:
        return found[0]
    filled = [i for i, part in enumerate(parts) if _is_filled(part)]
    if not found and len(filled) == 1 and not _names(parts[filled[0]]):
        return filled[0]
    raise NotInFile(f"no single document of the file declares {cluster}")


def _names(part: str) -> set[str]:
    return {document.metadata.name for document in load_documents(part, file="").documents}


def _body(part: str) -> str:
    return part.partition("\n")[2] if _MARK.match(part) else part


def _is_filled(part: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in _body(part).splitlines())
