"""`[database]`: where everything is recorded, and how long it may take."""

from pydantic import Field, SecretStr

from controlplane.server.sections.section import Section

LONGEST_CALL_S = 10.0
"""No call to a broker or a cloud lasts longer; a lease term is at least three of them."""


class DatabaseSection(Section):
    """Of the database."""

    url: SecretStr = Field(
        default=SecretStr(""), description="`sqlite:///FILE` or `postgresql://...`; empty: SQLite in home"
    )
    lease_term_s: float = Field(default=3 * LONGEST_CALL_S, ge=3 * LONGEST_CALL_S, le=600)
    query_limit_s: float = Field(
        default=10.0, ge=0.1, le=600, description="the longest the database may take for a page, a call or a search"
    )
