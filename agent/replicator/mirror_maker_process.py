"""MirrorMaker 2 on this VM: its files, its process, and what its log says of it."""

from pathlib import Path

from agent.durable import write_durably
from agent.exit_reason import ExitReason, exit_reason
from agent.journal.places import FilePlace, place_at_end, read_on
from agent.layout import REPLICATOR, AgentLayout
from agent.process import Marks, ServiceProcess, adopt, spawn
from agent.replicator.flow import flow_of, wrong_flow
from agent.service_user import service_user
from agent.services.last_run import LastRun
from agent.services.launch import MIRROR_MAKER_DIR, KafkaInstallation, service_environment
from agent.services.mirror_maker import mirror_properties
from agent.services.properties import log4j2_properties
from agent.settings import AgentSettings
from agent.wire_replicator import ReplicatorDocument

_COPIES = b" topic-partitions "
_COPIES_BEGIN = b" replicating "
"""Of the line each source task writes once it has its partitions and is about to read them (`MirrorSourceTask.start`,
Kafka 3.8 to 4.3): `... replicating 3 topic-partitions eu->us: [orders-0, ...].` The process has no port to ask."""
_READ_BYTES = 1024 * 1024


class MirrorMakerProcess:
    """The edges of the replicator. Nothing is made on disk before the first start."""

    def __init__(self, layout: AgentLayout, settings: AgentSettings) -> None:
        self._layout, self._settings = layout, settings
        self._installation = KafkaInstallation(settings.kafka_dir, settings.java)
        self._user = service_user(settings.run_as) if settings.run_as else None
        self._directory = layout.service_dir(REPLICATOR)
        self._marks = Marks.of(root=layout.root, service=REPLICATOR, directory=self._directory)
        self._last_run = LastRun(log=layout.service_log(REPLICATOR), output=layout.logs / f"{REPLICATOR}.out")

    @property
    def logs(self) -> str:
        """Where a person reads on."""
        return f"{self._layout.service_log(REPLICATOR)} and {self._layout.logs / REPLICATOR}.out"

    def find(self) -> ServiceProcess | None:
        """The live process with its marks, whoever started it. Raises OSError."""
        return adopt(self._marks)

    def log_end(self) -> FilePlace | None:
        """Where the lines of a process begin that is started now; None where there is no log yet."""
        return place_at_end(self._layout.service_log(REPLICATOR))

    def refused(self, document: ReplicatorDocument) -> str:
        """Why it cannot be started as the document says, and what to do; "" where it can."""
        if wrong := wrong_flow(document):
            return wrong
        if self._installation.mirror_maker(document.kafka_version):
            return ""
        version = document.kafka_version
        home = self._settings.kafka_dir / version
        return (
            f"MirrorMaker 2 of Kafka {version} is not on this VM: no connect-mirror-*.jar in {home / 'libs'} or "
            f"{home / MIRROR_MAKER_DIR}; an image made of Apache's own archive of Kafka has it, and for the `local` "
            f"cloud `python -m providers.local image {version} --mirror-maker` fetches it"
        )

    def start(self, document: ReplicatorDocument) -> ServiceProcess:
        """Renders its files anew and starts it. Raises OSError, and ValueError for a flow that cannot be run."""
        properties = mirror_properties(flow_of(document))
        directory, file, owner = self._directory, self._directory / "mirror-maker.properties", None
        directory.mkdir(parents=True, exist_ok=True)
        if self._user is not None:
            self._user.share(directory)
            self._layout.service_logs.mkdir(exist_ok=True)
            self._user.give(self._layout.service_logs)
            owner = (self._user.uid, self._user.gid)
        write_durably(directory / "log4j2.properties", self._logging().encode())
        write_durably(file, properties.encode(), mode=0o600, owner=owner)
        command = self._installation.mirror_maker_command(
            document.kafka_version,
            heap_mib=document.heap_mib,
            properties=file,
            marks=self._marks.arguments(document.start_id),
        )
        self._last_run.begins()
        return spawn(
            command,
            marks=self._marks,
            start_id=document.start_id,
            output=self._layout.logs / f"{REPLICATOR}.out",
            env=service_environment(),
            user=self._user,
        )

    def copies(self, since: FilePlace | None) -> tuple[bool, FilePlace | None]:
        """Whether the log says so behind `since`, and where to read on. Raises OSError."""
        piece = read_on(self._layout.service_log(REPLICATOR), since, most_bytes=_READ_BYTES)
        while piece is not None and piece.text:
            if any(_COPIES in line and _COPIES_BEGIN in line for line in piece.text.splitlines()):
                return True, piece.place
            since = FilePlace(piece.place.inode, piece.place.offset + len(piece.text), piece.place.begins)
            if not piece.is_more:
                break
            piece = read_on(self._layout.service_log(REPLICATOR), since, most_bytes=_READ_BYTES)
        return False, since

    def exit_reason(self) -> ExitReason:
        """Why its last process ended, by what that wrote."""
        return exit_reason(self._last_run.troubles())

    def _logging(self) -> str:
        return log4j2_properties(
            log_file=Path(self._layout.service_log(REPLICATOR)),
            cap_bytes=self._settings.log_cap_bytes,
            files=self._settings.log_files,
            levels={},
        )
