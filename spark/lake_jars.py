"""The jars that a session needs for Kafka and Delta: fetched once at set-up with Maven, never while something runs.

python -m spark.lake_jars --cache .cache
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

_POM = Path(__file__).with_name("pom.xml")


class JarsMissing(RuntimeError):
    """The jars are not there, or could not be fetched; a person must see to it."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m spark.lake_jars", description="Fetches Spark's Kafka and Delta jars"
    )
    parser.add_argument("--cache", type=Path, default=Path(".cache"), help="cache directory, `spark/` is made below it")
    try:
        ensure_jars(parser.parse_args(argv).cache)
    except JarsMissing as error:
        print(f"lake jars: {error}", file=sys.stderr)
        return 1
    return 0


def ensure_jars(cache_dir: Path) -> tuple[Path, ...]:
    """The jars in `<cache>/spark/jars`, fetched if one is missing (19 MB, some seconds). Raises `JarsMissing`."""
    target = cache_dir.absolute() / "spark" / "jars"
    if not _is_complete(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as work:
            fetched = Path(work) / "jars"
            _maven(fetched)
            if target.exists():
                target.rename(Path(work) / "replaced")
            fetched.rename(target)
    return lake_jars(cache_dir)


def lake_jars(cache_dir: Path) -> tuple[Path, ...]:
    """The jars in `<cache>/spark/jars`. Raises `JarsMissing` when the set-up has not fetched them."""
    return jars_in(cache_dir.absolute() / "spark" / "jars")


def jars_in(folder: Path) -> tuple[Path, ...]:
    """The jars in `folder`. Raises `JarsMissing` when the set-up has not fetched them."""
    if not _is_complete(folder):
        raise JarsMissing(f"{folder} lacks {', '.join(_missing(folder))}: run `make setup`")
    return tuple(folder.absolute() / name for name in _needed())


def lake_settings(jars: Sequence[Path]) -> Mapping[str, str]:
    """Raw Spark settings (`SparkSettings.extra`) of a session that reads Kafka and keeps Delta tables.

    Our rows are few and large (a message, or a window of thousands of replicas, is one row of some 100 KB), so what
    Spark counts in rows must be small: 4096 of them in one column batch would be the whole heap. Up to eight open files
    per task spare a sort of such rows by partition column. Delta plans its own log with 50 tasks unless told otherwise,
    and lists the files of a table with 10,000.
    """
    return {
        "spark.jars": ",".join(str(jar) for jar in jars),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "16",
        "spark.sql.maxConcurrentOutputFileWriters": "8",
        "spark.sql.parquet.columnarReaderBatchSize": "16",
        "spark.hadoop.parquet.block.size": str(32 * 2**20),
    }


def _needed() -> tuple[str, ...]:
    """File names, from the pom: `<artifact>-<version>.jar` for each dependency."""
    pairs = re.findall(r"<artifactId>([^<*]+)</artifactId>\s*<version>([^<]+)</version>\s*<excl", _POM.read_text())
    return tuple(f"{artifact}-{version}.jar" for artifact, version in pairs)


def _missing(target: Path) -> list[str]:
    return [name for name in _needed() if not (target / name).exists()]


def _is_complete(target: Path) -> bool:
    return not _missing(target)


def _maven(target: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise JarsMissing("Maven (mvn) is not installed; it fetches Spark's Kafka and Delta jars")
    done = subprocess.run(
        [maven, "-B", "-q", "-f", str(_POM), "dependency:copy-dependencies", f"-DoutputDirectory={target}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0 or _missing(target):
        from agent.exit_reason import exit_reason  # here alone: executors get our packages without the agent

        words = exit_reason(done.stdout + done.stderr).words
        raise JarsMissing(f"Maven could not fetch {', '.join(_missing(target))}: {words}")


if __name__ == "__main__":
    sys.exit(main())
