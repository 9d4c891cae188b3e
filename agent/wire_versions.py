"""Versions of documents: each is the lowest that says something an agent of before would leave out, with harm. It knows
no document of such a version, goes on with the one it has, and starts nothing."""

WIRE_VERSION = 1

TLS_WIRE_VERSION = 2
"""Of a document whose services speak TLS: an agent from before would leave that out and start Kafka in plaintext."""

STEP_WIRE_VERSION = 3
"""Of a document with a service between plaintext and TLS: an agent that left the step out would start it as if all had
made all steps, and controllers that skip one end themselves."""

NAMES_WIRE_VERSION = 4
"""Of a document whose nodes are known by other names than their certificates have, or with a listener that asks for
tokens: an agent that left the names out would start Kafka with super users that are nobody."""

ENSEMBLE_STEP_WIRE_VERSION = 5
"""Of a document with a service of ZooKeeper's mode between plaintext and TLS: an agent of before refuses one of the
versions above."""

MIGRATION_WIRE_VERSION = 6
"""Of a document with a service that speaks TLS and migrates from ZooKeeper to KRaft: an agent of before refuses one of
the versions above."""

OVERLAY_WIRE_VERSION = 7
"""Of a document with an overlay, or with the door of a pair: an agent that left them out would start services without
the guard that keeps strangers and clear text out, and let clients in at a cluster that was taken over from."""

WIRE_VERSIONS = (
    WIRE_VERSION,
    TLS_WIRE_VERSION,
    STEP_WIRE_VERSION,
    NAMES_WIRE_VERSION,
    ENSEMBLE_STEP_WIRE_VERSION,
    MIGRATION_WIRE_VERSION,
    OVERLAY_WIRE_VERSION,
)
"""Of documents that an agent of this release takes."""

NEWEST_WIRE_VERSION = WIRE_VERSIONS[-1]
