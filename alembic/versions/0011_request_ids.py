"""The id of the request behind an entry of the audit

Revision ID: e1_0011
Revises: e1_0010
Create Date: 2026-11-26

Only adds. The release before this one writes entries without an id, which keep the hash they always had; held to their
hashes by that release, entries with an id seem to be changed: check the audit with the newest release that writes it.
"""

import sqlalchemy as sa
from alembic import op

revision = "e1_0011"
down_revision = "e1_0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("audit_entry", sa.Column("request", sa.String(), nullable=False, server_default=""))
    op.create_index("ix_audit_entry_request", "audit_entry", ["request"])


def downgrade() -> None:
    op.drop_index("ix_audit_entry_request", "audit_entry")
    op.drop_column("audit_entry", "request")
