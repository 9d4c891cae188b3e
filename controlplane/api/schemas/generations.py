"""What the API says of the generations of a cluster and of what each would cost a month."""

from datetime import date, datetime

from pydantic import Field

from controlplane.api.schemas.costs import BillOut, MoneyOut
from controlplane.api.schemas.messages import Message
from controlplane.api.schemas.past import PastOut


class GenerationOut(Message):
    """One declaration and its cost a month."""

    generation: int
    declared_at: datetime
    declared_by: str
    source: str = Field(description="the file or address it was declared from, as it was told")
    in_force: bool
    bill: BillOut | None = Field(description="null where no cloud of it sells anything")
    before: int | None = Field(description="the generation `difference` is to; null for the first one")
    difference: list[MoneyOut] | None = Field(
        description="null for the first one, where nothing is sold, and where it hangs on a price nobody knows"
    )


class GenerationsOut(Message):
    """The generations of a cluster, the newest first."""

    cluster: str
    prices_of: date = Field(
        description="every cost is by the price catalogue of this day, that of asking, and not of the day it was "
        "declared; each line says when its own price was read"
    )
    generations: list[GenerationOut]
    total: int
    old: list[str] = Field(description="sources that were read more than 90 days ago")
    past: PastOut | None = Field(default=None, description="set where these are the generations there were")
    problem: str = Field(default="", description="why the home's catalog.yaml could not be read")
