"""A Spark cluster of its own on loopback: master, two workers, on demand a Connect server; all ended by pid."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Self, TypeVar

import psutil
import pyspark

from tests.waiting import until

HOME = Path(pyspark.__file__).parent
HOST = "127.0.0.1"
WITHIN_S = 240.0
Found = TypeVar("Found")
_JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"


class StandaloneSpark:
    """`with StandaloneSpark(dir) as spark: ... --master spark.master`. The pip package has no start scripts, so the
    classes are started by spark-class, each with a core and its own ports.
    """

    def __init__(self, work: Path, *, workers: int = 2) -> None:
        self._work = work
        self._processes: list[subprocess.Popen[bytes]] = []
        self._workers = workers
        self.master = f"spark://{HOST}:{_free_port()}"

    def __enter__(self) -> Self:
        try:
            port = self.master.rpartition(":")[2]
            self._start("master", ["master.Master", "--host", HOST, "--port", port, "--webui-port", "0"])
            until(lambda: _answers(int(port)), "the master listens", timeout_s=WITHIN_S)
            for number in range(self._workers):
                own = ["--host", HOST, "--cores", "1", "--memory", "1g", "--webui-port", "0"]
                own += ["--work-dir", str(self._work / f"worker-{number}")]
                self._start(f"worker-{number}", ["worker.Worker", *own, self.master])
            until(self._all_registered, "both workers are registered", timeout_s=WITHIN_S)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """The youngest first; executors go with their worker. Nothing is left."""
        families = [_family(process.pid) for process in self._processes]
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            process.wait(30)
        for orphan in psutil.wait_procs([p for family in families for p in family], timeout=10)[1]:
            orphan.kill()

    def connect_server(self) -> str:
        """A Connect server whose jobs run on this cluster; its address for `--master`."""
        port = _free_port()
        settings = {
            "spark.connect.grpc.binding.address": HOST,
            "spark.connect.grpc.binding.port": str(port),
            "spark.ui.enabled": "false",
            "spark.executor.memory": "512m",
            "spark.driver.extraJavaOptions": f"{_JAVA} -Djava.io.tmpdir={self._work}",
            "spark.local.dir": str(self._work / "connect"),
            "spark.sql.warehouse.dir": str(self._work / "warehouse"),
            "spark.sql.artifact.isolation.enabled": "true",
        }
        given = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        server = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
        command = [str(HOME / "bin" / "spark-submit"), *server, "--master", self.master, *given, "spark-internal"]
        # a Connect server counts as a daemon for spark-submit: its heap is the daemons', not the driver's
        self._run("connect", command, memory="512m")
        until(lambda: _answers(port) or self._ended(), "the Connect server listens", timeout_s=WITHIN_S)
        if self._ended():
            raise RuntimeError(f"the Connect server ended:\n{(self._work / 'connect.log').read_text()[-2000:]}")
        return f"sc://{HOST}:{port}"

    def executors(self) -> list[psutil.Process]:
        """The JVMs that workers started for applications, those whose Python workers run already."""
        children = [child for process in self._processes for child in _family(process.pid)[1:]]
        return [p for p in children if _says(p, "CoarseGrainedExecutorBackend") and _runs_python(p)]

    def _start(self, name: str, arguments: list[str]) -> None:
        package = "org.apache.spark.deploy."
        self._run(name, [str(HOME / "bin" / "spark-class"), package + arguments[0], *arguments[1:]])

    def _run(self, name: str, command: list[str], *, memory: str = "160m") -> None:
        environment = os.environ | {
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_DAEMON_MEMORY": memory,
            "SPARK_DAEMON_JAVA_OPTS": _JAVA,
            "SPARK_NO_DAEMONIZE": "1",
            "PYSPARK_PYTHON": sys.executable,
        }
        with (self._work / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(command, env=environment, cwd=self._work, stdout=log, stderr=log)
        self._processes.append(process)

    def _ended(self) -> bool:
        return self._processes[-1].poll() is not None

    def _all_registered(self) -> bool:
        logs = (self._work / f"worker-{number}.log" for number in range(self._workers))
        return all(b"Successfully registered with master" in log.read_bytes() for log in logs)


def _family(pid: int) -> list[psutil.Process]:
    try:
        own = psutil.Process(pid)
        return [own, *own.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _runs_python(executor: psutil.Process) -> bool:
    return any(_says(child, "pyspark.daemon") for child in _family(executor.pid)[1:])


def _says(process: psutil.Process, word: str) -> bool:
    """Whether its command line has the word."""
    try:
        return any(word in part for part in process.cmdline())
    except psutil.NoSuchProcess:
        return False


def _answers(port: int) -> bool:
    try:
        with socket.create_connection((HOST, port), timeout=1):
            return True
    except OSError:
        return False


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind((HOST, 0))
        port: int = sock.getsockname()[1]
        return port
