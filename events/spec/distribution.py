"""A build of Kafka of one's own, in place of Apache's archive of that version."""

from events.spec.fields import FieldClass, Part, classed
from events.spec.scalars import ArchiveUrl, Sha256


class Distribution(Part):
    """An archive like Apache's `kafka_2.13-<version>.tgz`, with `libs` in its one folder."""

    url: ArchiveUrl = classed(
        FieldClass.BEHAVIOURAL,
        "Where VMs fetch the archive when they are made: an address with `https:`, or a file of its machine with "
        "`file:///` on the local cloud. Another address of the same archive rolls nothing.",
    )
    sha256: Sha256 = classed(
        FieldClass.STATIC,
        "SHA-256 of the archive, 64 hex digits. A VM that fetches something else does not start Kafka. Another one "
        "rolls every VM, as another `version` does.",
    )
