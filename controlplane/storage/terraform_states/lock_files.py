"""Terraform's lock files as rows beside the states: a server on a new machine is held to the same checksums of
providers as the one that chose them. They hold no secret, and are not sealed.
"""

import hashlib

from sqlalchemy import Engine, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from controlplane.storage.tables import TERRAFORM_PROVIDERS
from events.clock import Clock, utc_now
from events.engine import reading, writing
from providers.tf.lock_files import ChosenInFiles


class SqlChosenProviders:
    """Implements `ChosenProviders`. `before` are the files of the home, in force for what has no row yet: of a release
    before, or of when the states were files. All verbs may raise StoreUnavailable."""

    def __init__(self, engine: Engine, before: ChosenInFiles, clock: Clock = utc_now) -> None:
        self._engine = engine
        self._before = before
        self._clock = clock

    def read(self, pins: str) -> bytes | None:
        row = self._row(pins)
        return self._before.read(pins) if row is None else row

    def keep(self, pins: str, body: bytes, *, instead_of: bytes | None) -> bool:
        values = {"body": body, "sha256": _sha256(body), "chosen_at": self._clock()}
        is_it = TERRAFORM_PROVIDERS.c.pins == pins
        try:
            with writing(self._engine) as transaction:
                there = select(TERRAFORM_PROVIDERS.c.sha256).where(is_it).with_for_update()
                known = transaction.execute(there).scalar_one_or_none()
                if known is None:
                    transaction.execute(insert(TERRAFORM_PROVIDERS).values(pins=pins, **values))
                    return True
                if instead_of is None or known != _sha256(instead_of):
                    return False
                transaction.execute(update(TERRAFORM_PROVIDERS).where(is_it).values(**values))
                return True
        except IntegrityError:
            return False  # another server chose in this very moment

    def keep_first(self, pins: str, body: bytes) -> None:
        if self._row(pins) is None:
            self.keep(pins, body, instead_of=None)

    def where(self, pins: str) -> str:
        file = f", and {self._before.where(pins)} too" if self._before.read(pins) is not None else ""
        return f"the database: delete the row of table terraform_providers with pins = '{pins}'{file}"

    def write_files(self) -> None:
        """Into the home, before the states become files."""
        with reading(self._engine) as connection:
            rows = connection.execute(select(TERRAFORM_PROVIDERS.c.pins, TERRAFORM_PROVIDERS.c.body)).all()
        for row in rows:
            self._before.keep(row.pins, bytes(row.body), instead_of=self._before.read(row.pins))

    def forget(self) -> None:
        """Once the states are files: a row would be in force again when they are in the database again."""
        with writing(self._engine) as transaction:
            transaction.execute(delete(TERRAFORM_PROVIDERS))

    def _row(self, pins: str) -> bytes | None:
        wanted = select(TERRAFORM_PROVIDERS.c.body).where(TERRAFORM_PROVIDERS.c.pins == pins)
        with reading(self._engine) as connection:
            body = connection.execute(wanted).scalar_one_or_none()
        return None if body is None else bytes(body)


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
