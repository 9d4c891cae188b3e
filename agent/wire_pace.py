"""The part of the contract that is about how often agents report; `agent.wire` has the whole of it."""

from typing import Annotated

from pydantic import Field

from agent.wire_base import Wire

REPORT_IN = "X-Kedge-Report-In"
"""Header of an answer to the question for a document: report within so many seconds from now on."""

Digest = Annotated[str, Field(max_length=64)]
"""Servers remember one of each agent."""

SILENT_AFTER_S = 30.0
"""A broker through which no heartbeat has come back for so long is silent: one that is started anew takes less."""


class ReportAnswer(Wire):
    """What the server says to a report. Came later than wire version 1; an older server says less."""

    accepted: bool = Field(default=True, description="whether the report was news")
    rotate: bool = Field(default=False, description="the credential is old by the server's clock: rotate it")
    certify: bool = Field(
        default=False, description="the certificate is missing, or old by the server's clock: renew it"
    )
    next_s: float | None = Field(
        default=None,
        description="when the next report is wanted, a change at once; absent: an older server, which wants one every"
        " 3 s and takes no `UnchangedReport`",
    )
    whole: bool = Field(default=False, description="what an `UnchangedReport` names is not known: send it whole")


class UnchangedReport(Wire):
    """In place of a report of which the server has all but measurements. To servers that say `next_s` alone."""

    wire: int
    cluster_uid: str
    node: str
    generation: int
    boot_id: str
    seq: int
    digest: str = Field(min_length=1, description="`Report.digest` of the one that is as it was")
