"""One Spark session for all tests that need one."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spark.session import SparkSettings, build_session, close_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark_session(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    work: Path = tmp_path_factory.mktemp("spark")
    session = build_session(SparkSettings(work_dir=work, master="local[2]", shuffle_partitions=2))
    yield session
    close_session(session)
