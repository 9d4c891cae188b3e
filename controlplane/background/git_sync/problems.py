"""What can be wrong with a file of a source beyond its spec. Codes are never given to another problem."""

from events.spec.positions import Positions
from events.spec.problems import Path, Problem, ProblemKind, shorten

LINK = ProblemKind("KEDGE-GIT-001", "symbolic link", "A link could lead out of the repository.")
SUBMODULE = ProblemKind("KEDGE-GIT-002", "submodule", "It would bring in another repository.", "warning")
TOO_LARGE = ProblemKind("KEDGE-GIT-003", "file too large", "A spec is a page of text.")
TAKEN_NAME = ProblemKind("KEDGE-GIT-004", "cluster declared by two files", "They would fight over it.")
OTHER_SOURCE = ProblemKind("KEDGE-GIT-005", "cluster of another source", "Each cluster's spec comes from one place.")
OTHER_TEAM = ProblemKind("KEDGE-GIT-006", "cluster of another team", "A binding speaks for one team.")
VERB = ProblemKind("KEDGE-GIT-007", "not allowed to this binding", "A commit acts with the rights of its binding.")
REFUSED = ProblemKind("KEDGE-GIT-008", "refused by what is in force", "The same rule holds for `kedge apply`.")
ODD_NAME = ProblemKind("KEDGE-GIT-009", "odd file name", "People read it in terminals and on pages.")
SECOND_PERSON = ProblemKind("KEDGE-GIT-010", "approval is needed", "A policy leaves it to a second person.")
ACCOUNT = ProblemKind("KEDGE-GIT-011", "account not of this binding", "Whoever can merge would spend another's money.")
LINKED_FOLDER = ProblemKind("KEDGE-GIT-012", "link to a folder", "Specs behind it are not read.", "warning")
PAIR_WAITS = ProblemKind("KEDGE-GIT-013", "pair that waits", "It is tried again at every poll.", "warning")

KINDS = (
    LINK,
    SUBMODULE,
    TOO_LARGE,
    TAKEN_NAME,
    OTHER_SOURCE,
    OTHER_TEAM,
    VERB,
    REFUSED,
    ODD_NAME,
    SECOND_PERSON,
    ACCOUNT,
    LINKED_FOLDER,
    PAIR_WAITS,
)

NAME: Path = ("metadata", "name")
OWNER: Path = ("metadata", "owner")


def of_file(kind: ProblemKind, path: str, message: str, fix: str) -> Problem:
    """A problem of a whole file: shown at its first line."""
    return Problem(shorten(path, 200), 1, 1, kind.code, message, fix, "", kind.severity)


def of_document(kind: ProblemKind, where: Positions, path: Path, message: str, fix: str) -> Problem:
    """A problem at its line."""
    return where.problem(kind, path, message, fix)
