"""The log directories of a service: is there something to format, may it be, and the formatting itself.

Formatting the wrong volume loses data, so only a directory that the document calls fresh, that is empty, and that
Kafka never ran on here is formatted. It happens in a directory beside, which is renamed when it is whole: a crash
leaves either nothing or a formatted directory.
"""

import re
import secrets
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from agent.durable import sync_directory, sync_tree, write_durably
from agent.exit_reason import exit_reason
from agent.host_port import HostPort
from agent.layout import AgentLayout
from agent.services.producer_ids import UnknownBootstrap, begin_producer_ids
from agent.services.zoo_cfg import write_first_configuration
from agent.steps import StorageFacts
from agent.wire import LogDir, ServiceDocument

_BESIDE = ".kafka.formatting-"


class FormatFailed(Exception):
    """The storage tool failed; retry later. Nothing was left behind.

    `refused` are its words where it refuses the configuration, "" where it failed for something else.
    """

    def __init__(self, message: str, *, refused: str = "") -> None:
        super().__init__(message)
        self.refused = refused


def storage_facts(service: ServiceDocument, layout: AgentLayout, *, used: Sequence[str]) -> StorageFacts:
    """Looks at every log directory of the service; all are attached. `used`: directory ids Kafka ran on here."""
    if service.name != "broker" and len(service.log_dirs) != 1:
        return StorageFacts("refused", f"a {service.name} has exactly one log directory, not {len(service.log_dirs)}")
    blank, gone = False, []
    for log_dir in service.log_dirs:
        data = _directory(service, log_dir, layout)
        try:
            meta = read_meta(data)
            is_empty = not data.exists() or not any(data.iterdir())
        except (OSError, ValueError) as error:
            return StorageFacts("refused", f"volume {log_dir.volume}: {data} cannot be read: {error}")
        facts = judge_directory(service, log_dir, meta=meta, is_empty=is_empty, was_used=log_dir.directory_id in used)
        if facts.state == "refused" and not facts.is_lost:
            return facts
        blank = blank or facts.state == "blank"
        gone += [facts] if facts.is_lost else []
    if gone:
        said, lost = "; ".join(f.reason for f in gone), tuple(name for f in gone for name in f.lost)
        return StorageFacts("refused", said, lost)
    return StorageFacts("blank" if blank else "ready")


def judge_directory(
    service: ServiceDocument, log_dir: LogDir, *, meta: Mapping[str, str] | None, is_empty: bool, was_used: bool
) -> StorageFacts:
    """The rule, without I/O. `meta` is None when there is no meta.properties."""
    where, gone = f"volume {log_dir.volume}", (log_dir.name,)
    if meta is not None:
        wanted = _meta(service, log_dir, has_migrated=meta.get("version") == "0")
        wrong = {k: (meta.get(k), v) for k, v in wanted.items() if meta.get(k) != v}
        if not wrong:
            return StorageFacts("ready")
        what = ", ".join(f"{key} is {found!r}, should be {wanted!r}" for key, (found, wanted) in wrong.items())
        said = f"{where} belongs to somebody else: {what}; nothing was touched"
        return StorageFacts("refused", said, lost=gone if wrong.keys() == {"directory.id"} else ())
    if not log_dir.fresh:
        said = f"{where} should hold data but has no meta.properties; it is not formatted again"
        return StorageFacts("refused", said, lost=gone if is_empty else ())
    if was_used:
        said = f"{where} held Kafka's data on this VM and has lost it; it is not formatted again"
        return StorageFacts("refused", said, lost=gone if is_empty else ())
    if not is_empty:
        return StorageFacts("refused", f"{where} is called fresh but is not empty, and has no meta.properties")
    return StorageFacts("blank")


def format_storage(
    service: ServiceDocument,
    layout: AgentLayout,
    *,
    used: Sequence[str],
    run_tool: Callable[[Path, tuple[str, ...]], None],
) -> None:
    """Formats the blank directories of the service; others are left alone. Raises `FormatFailed`.

    A founder of the quorum needs Kafka's own tool for the first snapshot; `run_tool(log_dir, arguments)` runs it with
    a server.properties whose `log.dirs` is that directory. Brokers and later controllers need meta.properties only
    (the tool's `--no-initial-controllers` writes nothing more that 4.x reads).
    """
    for log_dir in service.log_dirs:
        data = _directory(service, log_dir, layout)
        meta, is_empty = read_meta(data), not data.exists() or not any(data.iterdir())
        facts = judge_directory(service, log_dir, meta=meta, is_empty=is_empty, was_used=log_dir.directory_id in used)
        if facts.state == "refused":
            raise FormatFailed(facts.reason)
        if facts.state == "blank":
            _format_beside(service, log_dir, data, run_tool)


def read_meta(data: Path) -> dict[str, str] | None:
    """meta.properties of a log directory, None when there is none. Raises `ValueError` when it is damaged."""
    try:
        text = (data / "meta.properties").read_text(encoding="ascii")
    except FileNotFoundError:
        return None
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if any("=" not in line for line in lines):
        raise ValueError("meta.properties is damaged")
    return {key.strip(): _unescaped(value.strip()) for key, _, value in (line.partition("=") for line in lines)}


def _unescaped(value: str) -> str:
    r"""As Java reads a property: Kafka writes `a:b` as `a\:b`, and an id of a cluster may be any text."""
    return re.sub(r"\\(.)", r"\1", value)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\")


def storage_tool_arguments(service: ServiceDocument) -> tuple[str, ...]:
    """Arguments of `kafka.tools.StorageTool` for a founder, without `-c`. Each formats itself with the whole list."""
    voters = ",".join(f"{v.id}@{HostPort(v.address, v.port)}:{v.directory_id}" for v in service.voters)
    level = ("--release-version", service.metadata_level) if service.metadata_level else ()
    return ("format", "-t", service.cluster_id, *level, "-I", voters)


def _format_beside(
    service: ServiceDocument, log_dir: LogDir, data: Path, run_tool: Callable[[Path, tuple[str, ...]], None]
) -> None:
    for left_over in data.parent.glob(f"{_BESIDE}*"):
        shutil.rmtree(left_over)
    beside = data.parent / f"{_BESIDE}{secrets.token_hex(4)}"
    beside.mkdir()
    try:
        if service.name == "controller" and service.founder:
            run_tool(beside, storage_tool_arguments(service))
            _check_tool(service, log_dir, beside)
            _give_producer_ids(service, beside)
        else:
            text = "".join(f"{key}={_escaped(value)}\n" for key, value in _meta(service, log_dir).items())
            write_durably(beside / "meta.properties", text.encode("ascii"))
            if service.name == "zookeeper":
                write_first_configuration(service, beside)
        sync_tree(beside)
        beside.rename(data)
        sync_directory(data.parent)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def _check_tool(service: ServiceDocument, log_dir: LogDir, beside: Path) -> None:
    """The tool takes our directory id from the voter list; a list that names another one is found here."""
    facts = judge_directory(service, log_dir, meta=read_meta(beside), is_empty=False, was_used=False)
    if facts.state != "ready":
        raise FormatFailed(f"kafka-storage format left a wrong directory: {facts.reason}")


def _give_producer_ids(service: ServiceDocument, beside: Path) -> None:
    """A cluster that was told a range of its own and began at 0 would be taken for one whose ids are nobody else's."""
    if service.first_producer_id is None:
        return
    try:
        begin_producer_ids(beside, service.first_producer_id)
    except UnknownBootstrap as error:
        raise FormatFailed(
            f"kafka-storage of {service.kafka_version} formats otherwise than its releases before, so that the"
            f" cluster's producer ids cannot begin at {service.first_producer_id}: {error}"
        ) from error


def _directory(service: ServiceDocument, log_dir: LogDir, layout: AgentLayout) -> Path:
    return layout.zookeeper(log_dir) if service.name == "zookeeper" else layout.data(log_dir)


def _meta(service: ServiceDocument, log_dir: LogDir, *, has_migrated: bool = False) -> dict[str, str]:
    """What identifies the directory. Brokers in ZooKeeper mode write version 0 (MetaPropertiesVersion), and keep the
    directory id they find; KRaft leaves that file as it is, so a broker that `has_migrated` has it for life. For a
    ZooKeeper server the file is ours alone."""
    if service.name == "broker" and (service.is_zookeeper_mode or has_migrated):
        return {
            "version": "0",
            "cluster.id": service.cluster_id,
            "broker.id": str(service.node_id),
            "directory.id": log_dir.directory_id,
        }
    return {
        "version": "1",
        "cluster.id": service.cluster_id,
        "node.id": str(service.node_id),
        "directory.id": log_dir.directory_id,
    }


def run_storage_tool(command: Sequence[str], *, env: Mapping[str, str], timeout_s: float) -> None:
    """Runs the tool. Raises `FormatFailed` with the reason it gives."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=dict(env),
            timeout=timeout_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FormatFailed(f"kafka-storage format did not run: {error}") from error
    if done.returncode != 0:
        reason = exit_reason(done.stderr + done.stdout)
        refused = reason.words if reason.is_configuration else ""
        message = f"kafka-storage format failed with exit code {done.returncode}: {reason.words}"
        raise FormatFailed(message, refused=refused)
