"""What `preset: production` means for a cluster that is not there yet, and for none that lives: TLS between its nodes.

Other words of a preset are spelt out when a file is read (`events.spec.presets`). This one is not, since the same file
is declared again and again, and a living cluster that speaks plaintext must not be turned by it. So a file that says
nothing of `security.internal` is settled against what is in force: a new cluster is declared with `tls`, from then on
the document in force says so, and whoever lives keeps what the document in force has.
"""

from collections.abc import Mapping
from dataclasses import replace

from events.spec.document import LoadResult
from events.spec.model import KafkaClusterDocument
from events.spec.positions import Positions
from events.spec.presets import is_tls_meant
from events.spec.problems import Problem
from events.spec.rules import check
from events.spec.security import InternalSecurity


def leaves_open(document: KafkaClusterDocument) -> bool:
    """Whether its preset says what nodes speak, as the file does not."""
    spec = document.spec
    is_said = "security" in spec.model_fields_set and "internal" in spec.security.model_fields_set
    return spec.preset == "production" and not is_said


def settled(document: KafkaClusterDocument, in_force: KafkaClusterDocument | None) -> KafkaClusterDocument:
    """The document as it is declared. `in_force`: that of the living cluster of its name, None where there is none."""
    if not leaves_open(document):
        return document
    if in_force is not None:
        return settled_as(document, in_force.spec.security.internal)
    is_meant = is_tls_meant(document.model_dump(mode="json", by_alias=True)["spec"])
    return settled_as(document, "tls" if is_meant else "plaintext")


def settled_as(document: KafkaClusterDocument, internal: InternalSecurity) -> KafkaClusterDocument:
    """The same where it is known otherwise what its nodes speak."""
    if not leaves_open(document):
        return document
    security = document.spec.security.model_copy(update={"internal": internal})
    return document.model_copy(update={"spec": document.spec.model_copy(update={"security": security})})


def settled_with_problems(
    document: KafkaClusterDocument, in_force: KafkaClusterDocument | None, where: Positions
) -> tuple[KafkaClusterDocument, list[Problem]]:
    """The same with everything that is wrong with it then, where that is another document: TLS does not stand beside
    all that plaintext does."""
    became = settled(document, in_force)
    return became, check(became, positions=where) if became != document else []


def settled_file(loaded: LoadResult, in_force: Mapping[str, KafkaClusterDocument | None]) -> LoadResult:
    """The same of all clusters of a file."""
    documents, problems = [], list(loaded.problems)
    for document, where in zip(loaded.documents, loaded.positions, strict=True):
        became, found = settled_with_problems(document, in_force.get(document.metadata.name), where)
        documents.append(became)
        problems += [one for one in found if one not in problems]
    return replace(loaded, documents=tuple(documents), problems=tuple(problems))
