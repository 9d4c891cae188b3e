"""One Spark session for all tests that need one."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spark.lake_jars import lake_jars, lake_settings
from spark.session import SparkSettings, build_session, close_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CACHE = Path(__file__).resolve().parent.parent.parent / ".cache"


@pytest.fixture(scope="session")
def spark_session(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    work: Path = tmp_path_factory.mktemp("spark")
    extra = lake_settings(lake_jars(CACHE))
    session = build_session(SparkSettings(work_dir=work, master="local[2]", shuffle_partitions=2, extra=extra))
    yield session
    close_session(session)
