"""A VM's document as it goes over the wire, with an ETag that ignores the epoch: a new term restarts nothing."""

import hashlib
from dataclasses import dataclass

from controlplane.converger.documents import document_for
from controlplane.view import ClusterView
from events.ids import Epoch


@dataclass(frozen=True, slots=True)
class Offer:
    """`body` is the document's JSON, `version` that of the view it was made from."""

    body: str
    etag: str
    version: int


def offer(view: ClusterView, key: str, *, epoch: Epoch) -> Offer:
    """The document of an instance. Raises LookupError for one that is retired or unknown."""
    document = document_for(view, key, epoch=epoch)
    if document is None:
        raise LookupError(f"there is no document for {key} of {view.uid}")
    content = document.model_dump_json(exclude={"epoch"})
    return Offer(document.model_dump_json(), hashlib.sha256(content.encode()).hexdigest()[:32], view.version)
