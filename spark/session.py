"""The one builder of Spark sessions: the same code for a laptop, a cluster and Spark Connect, only settings
differ.

Imports pyspark when asked to build, not before: whoever only needs the settings does not pay for it.
"""

import importlib.util
import os
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHIPPED_PACKAGES = ("planner", "spark", "events")
"""What the Python workers of another machine must be able to import."""

_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
logger.native.name = org.apache.hadoop.util.NativeCodeLoader
logger.native.level = error
logger.env.name = org.apache.spark.util.Utils
logger.env.level = error
logger.conf.name = org.apache.spark.SparkConf
logger.conf.level = error
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = error
"""


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """`master`: `local[*]`, `spark://...`, `yarn`, `k8s://...` or `sc://...` (Spark Connect). `work_dir`
    takes Spark's scratch files; whoever made it removes it. `compiler`: JVM options of speed; the default starts
    fast, a job that lives for months wants Java's own. `extra` are raw Spark settings, applied last.
    """

    work_dir: Path
    master: str = "local[*]"
    app_name: str = "kedge-planner"
    driver_memory: str = "1g"
    shuffle_partitions: int = 8
    bind_address: str = "127.0.0.1"
    compiler: str = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_local(self) -> bool:
        return self.master.startswith("local")

    @property
    def is_connect(self) -> bool:
        return self.master.startswith("sc://")


def build_session(settings: SparkSettings) -> "SparkSession":
    """A session in UTC with the interface off. A classic one starts a JVM (7 to 18 s); raises what pyspark
    raises.
    """
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName(settings.app_name)
    if settings.is_connect:
        builder = builder.remote(settings.master)
    else:
        os.environ["SPARK_LOCAL_IP"] = settings.bind_address
        builder = builder.master(settings.master)
    for name, value in {**_shared(settings), **_classic(settings), **settings.extra}.items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    if not settings.is_local:
        session.addArtifact(str(package_archive(settings.work_dir)), pyfile=True)
    return session


def close_session(session: "SparkSession", *, within_s: float = 10.0) -> None:
    """Stop the session and wait for the JVM behind it; `session.stop()` alone leaves that running.

    The JVM ends when its stdin closes (PythonGatewayServer). Raises subprocess.TimeoutExpired when it does
    not.
    """
    from pyspark import SparkContext

    session.stop()
    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    if gateway is None or process is None:
        return  # Spark Connect: the JVM is not ours
    gateway.shutdown()
    process.stdin.close()
    process.wait(within_s)
    SparkContext._gateway = SparkContext._jvm = None


def source_root() -> Path:
    """The directory our packages are imported from."""
    spec = importlib.util.find_spec("planner")
    if spec is None or spec.origin is None:
        raise RuntimeError("package `planner` has no place on disk, so Spark's Python workers cannot import it")
    return Path(spec.origin).parent.parent


def package_archive(work_dir: Path) -> Path:
    """Our packages as one zip, for Python workers on other machines."""
    archive = work_dir / "kedge-packages.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for path in _sources():
            target.write(path, path.relative_to(source_root()))
    return archive


def _shared(settings: SparkSettings) -> dict[str, str]:
    """Settings of a session, valid on Spark Connect too. Plans are small: adaptive execution only costs time."""
    return {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(settings.shuffle_partitions),
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }


def _classic(settings: SparkSettings) -> dict[str, str]:
    """Settings of the JVM we start ourselves."""
    if settings.is_connect:
        return {}
    log4j = settings.work_dir / "log4j2.properties"
    log4j.write_text(_LOG4J)
    java = f"-Dlog4j2.configurationFile={log4j.as_uri()} -Djava.io.tmpdir={settings.work_dir}"
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.extraJavaOptions": f"{java} {settings.compiler}".rstrip(),
        "spark.local.dir": str(settings.work_dir),
        "spark.sql.warehouse.dir": str(settings.work_dir / "warehouse"),
        "spark.executorEnv.PYTHONPATH": str(source_root()),
        "spark.python.worker.reuse": "true",
        **({"spark.driver.host": settings.bind_address} if settings.is_local else {}),
        **({"spark.driver.bindAddress": settings.bind_address} if settings.is_local else {}),
    }


def _sources() -> Iterator[Path]:
    for package in SHIPPED_PACKAGES:
        yield from sorted((source_root() / package).rglob("*.py"))
