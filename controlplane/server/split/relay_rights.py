"""What the role of a relay may do in PostgreSQL: read the audit. `controlplane.server.database_roles` grants it.

A hash in each entry covers the one before, so that is the chain too. Turns and words of a relay need no right
(`controlplane.api.audit.lock`).
"""

from collections.abc import Mapping

RELAY_RIGHTS: Mapping[str, str] = {"audit_entry": "SELECT"}
"""By table. All others are closed to it, column by column."""
