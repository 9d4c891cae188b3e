"""What is remembered of a source: events in a stream of its own. Any server goes on where the last one ended."""

from dataclasses import dataclass, replace

from events import facts
from events.codec import decode, encode
from events.envelope import Origin
from events.ids import derived_id
from events.store import EventStore


@dataclass(frozen=True, slots=True)
class SourceFold:
    """The fold of a source's stream. `rewritten` is the tip a person is asked about, "" when none is."""

    name: str
    version: int = 0
    applied: facts.SourceApplied | None = None
    rewritten: str = ""
    accepted: str = ""

    @property
    def commit(self) -> str | None:
        """The commit applied last."""
        return self.applied.commit if self.applied is not None else None


def read_source_fold(store: EventStore, known: SourceFold) -> SourceFold:
    """Reads what was recorded since `known`; `SourceFold(name)` knows nothing yet. Raises StoreUnavailable."""
    fold = known
    for recorded in store.read_stream(source_stream(known.name), known.version):
        fold = replace(_after(fold, decode(recorded)), version=recorded.version)
    return fold


def record(store: EventStore, fold: SourceFold, fact: object, *, actor: str) -> SourceFold:
    """Appends a fact. Raises StreamConflict when somebody else wrote meanwhile: read again."""
    stream = source_stream(fold.name)
    event = encode(fact, derived_id("source", stream, str(fold.version), repr(fact)))
    recorded = store.append(stream, [event], expected_version=fold.version, origin=Origin(actor=actor))
    return replace(_after(fold, fact), version=recorded[-1].version)


def source_stream(name: str) -> str:
    """The stream of a binding."""
    return f"source-{name}"


def _after(fold: SourceFold, fact: object) -> SourceFold:
    match fact:
        case facts.SourceApplied():
            return replace(fold, applied=fact, rewritten="", accepted="")
        case facts.SourceRewritten(found=found):
            return replace(fold, rewritten=found)
        case facts.SourceAccepted(commit=commit):
            return replace(fold, accepted=commit)
        case _:
            raise TypeError(f"a {type(fact).__name__} in the stream of a source")
