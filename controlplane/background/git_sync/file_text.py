"""A spec file as text, a document at a time: one is put in place of another, and every other byte stays. Pure.

A document goes by the name of what it declares: a cluster's own, or `CLUSTER/TOPIC`.
"""

import re
from itertools import pairwise

from events.spec.document import load_documents

_MARK = re.compile(r"(?m)^---(?=[ \t\r\n]|\Z)")


class NotInFile(ValueError):
    """The file holds no such document that could be told from others. What now: edit the file by hand."""


def topic_in_file(cluster: str, topic: str) -> str:
    """The name of a topic's document."""
    return f"{cluster}/{topic}"


def document_in(text: str, name: str) -> str:
    """The document of that name, comments and all, without the line `---`. Raises NotInFile."""
    parts = _parts(text)
    return _body(parts[_place(parts, name)])


def with_document(text: str, name: str, document: str) -> str:
    """The file with this document in place of the one of that name. Raises NotInFile.

    Where the file is broken its only document counts as the one that is meant.
    """
    parts = _parts(text)
    place = _place(parts, name)
    old = parts[place]
    mark = "---\n" if _MARK.match(old) else ""
    parts[place] = mark + document.strip("\n") + "\n"
    return "".join(parts)


def _parts(text: str) -> list[str]:
    """The text cut before each `---`: a line that begins so is never inside a document."""
    cuts = [0, *(found.start() for found in _MARK.finditer(text)), len(text)]
    return [text[begin:end] for begin, end in pairwise(cuts) if end > begin]


def _place(parts: list[str], name: str) -> int:
    found = [i for i, part in enumerate(parts) if name in _names(part)]
    if len(found) == 1:
        return found[0]
    filled = [i for i, part in enumerate(parts) if _is_filled(part)]
    if not found and len(filled) == 1 and not _names(parts[filled[0]]):
        return filled[0]
    raise NotInFile(f"no single document of the file declares {name}")


def _names(part: str) -> set[str]:
    loaded = load_documents(part, file="")
    topics = {topic_in_file(topic.spec.cluster, topic.topic) for topic in loaded.topics}
    return {document.metadata.name for document in loaded.documents} | topics


def _body(part: str) -> str:
    return part.partition("\n")[2] if _MARK.match(part) else part


def _is_filled(part: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in _body(part).splitlines())
