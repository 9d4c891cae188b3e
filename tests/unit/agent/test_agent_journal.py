"""Lines of logs on their way to Kafka: rotation, truncation, torn lines, floods, a Kafka that is away, and secrets."""

import json
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings, strategies as st

from agent.disk_spool import DiskSpool
from agent.journal.entries import MOST_TEXT_BYTES, LogEntry, split
from agent.journal.places import FIRST_BYTES, FilePlace
from agent.journal.shipping import JournalShipping, LogOrigin
from agent.journal.source import LogSource
from agent.journal.start import keep_places, places_in, sources_of
from agent.layout import AgentLayout
from agent.masking import HIDDEN, masked
from agent.metrics_spool import Parcel
from agent.sending import Undelivered

ORIGIN = LogOrigin("c1", "brokers-a-0", 2)


def kafka_line(number: int, *, level: str = "INFO", minute: int = 0) -> str:
    return f"[2026-03-01 10:{minute:02}:{number % 60:02},{number % 1000:03}] {level} line {number} (kafka.Log)\n"


class Kafka:
    """Takes parcels, or keeps them back, or refuses them."""

    def __init__(self) -> None:
        self.answers: Callable[[], Undelivered | None] = lambda: None
        self.is_silent = False
        self.lines: list[dict[str, object]] = []
        self.batches = 0
        self._flying: list[tuple[Parcel, Callable[[Undelivered | None], None]]] = []

    def send(self, parcel: Parcel, delivered: Callable[[Undelivered | None], None]) -> bool:
        self._flying.append((parcel, delivered))
        return True

    def poll(self, within_s: float) -> None:
        while self._flying and not self.is_silent:
            parcel, delivered = self._flying.pop(0)
            answer = self.answers()
            if answer is None:
                self.lines += [json.loads(line) for line in parcel.payload.splitlines()]
                self.batches += 1
            delivered(answer)

    def close(self) -> None:
        self.poll(0)

    @property
    def texts(self) -> list[str]:
        return [str(line["text"]) for line in self.lines]

    @property
    def numbers(self) -> list[int]:
        return [int(text.split(" line ")[1].split()[0]) for text in self.texts if " line " in text]


class Vm:
    """A broker's log, and the agent that sends it."""

    def __init__(self, directory: Path, *, lines_per_min: int = 6000) -> None:
        self.log = directory / "broker.log"
        self.kafka, self.now_s = Kafka(), 100.0
        self.kept: dict[str, FilePlace] = {}
        self._lines_per_min = lines_per_min
        self._rolls = 0
        self.agent = self.new_agent()

    def new_agent(self) -> JournalShipping:
        source = LogSource("broker", self.log, lines_per_min=self._lines_per_min, zone=UTC)
        return JournalShipping(
            ORIGIN,
            [source],
            self.kafka,
            lambda: self.now_s,
            places=self.kept,
            keep=self.kept.update,
            secrets=["s3cr3t-token"],
        )

    def write(self, text: str) -> None:
        with self.log.open("a") as log:
            log.write(text)

    def roll(self, *, kept: int = 3) -> None:
        """As log4j does: the highest number is the newest."""
        numbers = sorted(int(p.suffix[1:]) for p in self.log.parent.glob("broker.log.*"))
        if len(numbers) >= kept:
            self._numbered(1).unlink()
            for number in numbers[1:]:
                self._numbered(number).rename(self._numbered(number - 1))
            numbers = numbers[:-1]
        self._rolls += 1
        os.utime(self.log, ns=(0, self._rolls * 1_000_000))  # files of a test are all written within one tick
        self.log.rename(self._numbered(len(numbers) + 1))

    def pass_time(self, ticks: int = 6) -> None:
        for _ in range(ticks):
            self.now_s += 1.0
            self.agent.tick()

    def _numbered(self, number: int) -> Path:
        return self.log.with_name(f"broker.log.{number}")


@pytest.fixture
def vm(tmp_path: Path) -> Vm:
    return Vm(tmp_path)


def test_a_line_tells_where_and_when_it_was_written_and_by_whom(vm: Vm) -> None:
    trace = "[2026-03-01 10:00:00,123] ERROR Cannot read (kafka.Log)\njava.io.IOException: gone\n\tat A.b(A.java:3)"
    vm.write(trace + "\n")
    vm.pass_time()
    (line,) = vm.kafka.lines
    assert line == {
        "v": 1,
        "cluster": "c1",
        "node": "brokers-a-0",
        "generation": 2,
        "service": "broker",
        "id": f"broker/{vm.log.stat().st_ino:x}/0",
        "at": "2026-03-01T10:00:00.123Z",
        "level": "ERROR",
        "error": "java.io.IOException",
        "text": trace,
    }


def test_a_stack_trace_that_is_still_being_written_waits_for_its_end(vm: Vm) -> None:
    vm.write("[2026-03-01 10:00:00,123] ERROR Boom (kafka.Log)\njava.lang.Error: x\n")
    vm.agent.tick()
    vm.write("\tat A.b(A.java:3)\n\tat C")
    vm.now_s += 0.5
    vm.agent.tick()
    vm.write(".d(C.java:4)\n" + kafka_line(7))
    vm.pass_time()
    assert len(vm.kafka.lines) == 2
    assert vm.kafka.texts[0].endswith("\tat A.b(A.java:3)\n\tat C.d(C.java:4)")


def test_a_torn_line_is_told_once_and_whole(vm: Vm) -> None:
    line = kafka_line(1)
    vm.write(line[:20])
    vm.pass_time()
    assert vm.kafka.lines == []
    vm.write(line[20:])
    vm.pass_time()
    assert vm.kafka.texts == [line.rstrip("\n")]


def test_lines_are_followed_across_rotation(vm: Vm) -> None:
    for number in range(12):
        vm.write(kafka_line(number))
        if number % 3 == 2:
            vm.roll()
        if number % 4 == 1:
            vm.pass_time(2)
    vm.write(kafka_line(12))
    vm.pass_time()
    assert vm.kafka.numbers == list(range(13))


def test_the_agents_own_log_is_followed_though_its_handler_counts_the_other_way(tmp_path: Path) -> None:
    import logging.handlers

    log = tmp_path / "agent.log"
    handler = logging.handlers.RotatingFileHandler(log, maxBytes=200, backupCount=9)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    kafka, source = Kafka(), LogSource("agent", log, lines_per_min=100)
    now = [0.0]
    agent = JournalShipping(ORIGIN, [source], kafka, lambda: now[0], places={}, keep=lambda _: None)
    for number in range(20):
        handler.emit(logging.LogRecord("agent", logging.WARNING, "", 0, f"this is line {number} ", None, None))
        if number == 0:
            for _ in range(4):
                now[0] += 1
                agent.tick()
    handler.close()
    for _ in range(30):
        now[0] += 1
        agent.tick()
    assert kafka.numbers == list(range(20))
    assert {line["level"] for line in kafka.lines} == {"WARN"}


def test_a_log_cut_short_is_read_anew_and_the_gap_is_told(vm: Vm) -> None:
    vm.write(kafka_line(1) + kafka_line(2))
    vm.pass_time()
    vm.log.write_text(kafka_line(3))
    vm.pass_time()
    assert vm.kafka.numbers == [1, 2, 3]
    assert "cut short" in vm.kafka.texts[2]


def test_an_inode_used_again_for_another_log_is_not_taken_for_the_old_one(vm: Vm) -> None:
    vm.write(kafka_line(1))
    vm.pass_time()
    inode = vm.log.stat().st_ino
    vm.log.write_text(kafka_line(800) + kafka_line(801))  # the same inode, longer, and another file
    assert vm.log.stat().st_ino == inode
    vm.pass_time()
    assert vm.kafka.numbers == [1, 800, 801]


def test_after_a_split_everything_the_files_still_hold_follows_in_order(vm: Vm) -> None:
    vm.write(kafka_line(0))
    vm.pass_time()
    vm.kafka.is_silent = True
    for number in range(1, 900):
        vm.write(kafka_line(number, minute=number // 60))
        if number % 300 == 0:
            vm.roll()
        if number % 100 == 0:
            vm.pass_time(1)
    assert vm.kafka.numbers == [0]
    vm.kafka.is_silent = False
    vm.pass_time(20)
    assert vm.kafka.numbers == list(range(900))


def test_what_was_rolled_away_during_a_split_is_told_as_missing(vm: Vm) -> None:
    vm.write(kafka_line(0))
    vm.pass_time()
    vm.kafka.is_silent = True
    for number in range(1, 100):
        vm.write(kafka_line(number, minute=number // 60))
        if number % 10 == 0:
            vm.pass_time(1)
            vm.roll()
    vm.kafka.is_silent = False
    vm.pass_time(20)
    numbers = vm.kafka.numbers
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == 99
    assert 30 not in numbers
    assert any("rolled away" in text for text in vm.kafka.texts)


def test_while_kafka_is_away_one_batch_is_held_and_no_more_is_read(vm: Vm) -> None:
    vm.write("".join(kafka_line(n, minute=n // 60 % 60) for n in range(3000)))
    vm.kafka.is_silent = True
    vm.pass_time(50)
    assert vm.agent.waiting == 1
    vm.kafka.is_silent = False
    vm.pass_time()
    assert vm.kafka.numbers == list(range(3000))


def test_a_refusal_that_may_pass_is_tried_again_before_anything_else_goes(vm: Vm) -> None:
    answers: list[Undelivered | None] = [Undelivered("no leader"), Undelivered("no leader"), None]
    vm.kafka.answers = lambda: answers.pop(0) if answers else None
    vm.write(kafka_line(1))
    vm.pass_time(3)
    vm.write(kafka_line(2))
    vm.pass_time(12)
    assert vm.kafka.numbers == [1, 2]


def test_a_batch_kafka_will_never_take_is_left_out_and_told(vm: Vm) -> None:
    vm.kafka.answers = lambda: Undelivered("too large", is_final=True)
    vm.write(kafka_line(1))
    vm.pass_time()
    vm.kafka.answers = lambda: None
    vm.write(kafka_line(2))
    vm.pass_time()
    assert vm.kafka.numbers == [2]
    assert "a batch of lines is missing" in vm.kafka.texts[0]


def test_a_flood_is_cut_by_the_minute_and_the_number_left_out_is_told(tmp_path: Path) -> None:
    vm = Vm(tmp_path, lines_per_min=10)
    vm.write("".join(kafka_line(n) for n in range(50)))
    vm.write(kafka_line(50, level="ERROR"))
    vm.write("".join(kafka_line(n, minute=1) for n in range(51, 61)))
    vm.pass_time()
    assert vm.kafka.numbers == [*range(10), *range(50, 61)]
    assert [line["left_out"] for line in vm.kafka.lines if "left_out" in line] == [40]


def test_an_agent_that_restarts_goes_on_where_kafka_left_off(vm: Vm) -> None:
    vm.write(kafka_line(1))
    vm.pass_time()
    vm.kafka.is_silent = True
    vm.write(kafka_line(2))
    vm.pass_time()
    vm.kafka._flying.clear()  # what was under way dies with the agent
    vm.kafka.is_silent = False
    vm.agent = vm.new_agent()
    vm.write(kafka_line(3))
    vm.pass_time()
    assert vm.kafka.numbers == [1, 2, 3]


def test_lines_told_twice_over_a_restart_are_the_same_to_the_byte(vm: Vm) -> None:
    vm.write(kafka_line(1) + kafka_line(2))
    vm.pass_time()
    before = list(vm.kafka.lines)
    vm.kept.clear()
    vm.agent = vm.new_agent()
    vm.pass_time()
    assert vm.kafka.lines == [*before, *before]


def test_a_long_log_that_was_never_read_is_begun_near_its_end(vm: Vm) -> None:
    line = kafka_line(1)
    vm.write(line * (2 * FIRST_BYTES // len(line)) + kafka_line(2, minute=5))
    vm.pass_time(40)
    assert 0 < len(vm.kafka.texts) <= FIRST_BYTES // len(line) + 2
    assert vm.kafka.numbers[-1] == 2
    assert all(text.startswith("[2026") for text in vm.kafka.texts if "left out" not in text)


@pytest.mark.parametrize("apart", [False, True])
def test_a_log_that_cannot_be_read_keeps_nothing_else_back(tmp_path: Path, *, apart: bool) -> None:
    layout = AgentLayout(tmp_path, services_apart=apart)
    (layout.logs / "agent.log").mkdir(parents=True)
    layout.service_logs.mkdir(exist_ok=True)
    layout.service_log("broker").write_text(kafka_line(1))
    kafka, now = Kafka(), [0.0]
    sources = sources_of(layout, lines_per_min=10)
    agent = JournalShipping(ORIGIN, sources, kafka, lambda: now[0], places={}, keep=lambda _: None)
    for _ in range(4):
        now[0] += 1
        agent.tick()
    assert kafka.numbers == [1]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["line", "trace", "roll", "look", "away", "back", "restart"]), max_size=40))
def test_whatever_happens_lines_come_in_order_and_only_restarts_repeat_them(happenings: list[str]) -> None:
    with TemporaryDirectory() as directory:
        vm, written, restarts = Vm(Path(directory)), 0, 0
        for happening in happenings:
            if happening in ("line", "trace"):
                vm.write(kafka_line(written) + ("\tat A.b(A.java:3)\n" if happening == "trace" else ""))
                written += 1
            elif happening == "roll" and vm.log.exists():
                vm.roll(kept=1000)
            elif happening == "look":
                vm.pass_time(1)
            elif happening in ("away", "back"):
                vm.kafka.is_silent = happening == "away"
            elif happening == "restart":
                restarts += 1
                vm.agent = vm.new_agent()
        vm.kafka.is_silent = False
        vm.write(kafka_line(written))
        vm.pass_time(60)
        seen = vm.kafka.numbers
        first = list(dict.fromkeys(seen))
        assert first == sorted(first)
        assert seen[-1] == written
        if restarts == 0:
            assert seen == first
            assert "roll" in happenings or seen == list(range(written + 1))


@given(
    st.lists(st.sampled_from([kafka_line(1), kafka_line(2), "\tat A.b\n", "words\n", "\n"]), max_size=30),
    st.integers(1, 400),
)
def test_entries_cut_anywhere_are_the_entries_of_the_whole(lines: list[str], step: int) -> None:
    text = "".join(lines).encode()
    whole = split(text, begins=0, is_all=True, zone=UTC)
    assert whole.taken == len(text)
    found: list[LogEntry] = []
    place, end = 0, 0
    while end < len(text):
        end = min(end + step, len(text))
        end = max(end, place)
        complete = text[place:end]
        complete = complete[: complete.rfind(b"\n") + 1]
        piece = split(complete, begins=place, is_all=end == len(text), zone=UTC)
        found += piece.entries
        place += piece.taken
    heads = [e for e in whole.entries if e.level]
    assert [e for e in found if e.level] == heads


def test_an_entry_that_is_too_long_is_cut_and_says_so() -> None:
    (entry,) = split(kafka_line(1).encode() + b"x" * MOST_TEXT_BYTES + b"\n", begins=0, is_all=True, zone=UTC).entries
    assert entry.text.endswith("bytes more)")
    assert len(entry.text) < MOST_TEXT_BYTES + 100


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("ssl.keystore.password = hunter2abc", "hunter2abc"),
        ('sasl.jaas.config=org.PlainLoginModule required username="u" password="pa ss";', "pa ss"),
        ("Authorization: Bearer abcdef123456", "abcdef123456"),
        ("https://kedge:p4ssw0rd@example.com/x", "p4ssw0rd"),
        ("AWS AKIAABCDEFGHIJKLMNOP is used", "AKIAABCDEFGHIJKLMNOP"),
        ('{"token": "deadbeefdeadbeef"}', "deadbeefdeadbeef"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----", "MIIabc"),
        ("superDigest=super:YWJjZGVmZ2hpamtsbW5vcHFyc3Q=", "YWJjZGVmZ2hpamtsbW5vcHFyc3Q="),
        ("said s3cr3t-token aloud", "s3cr3t-token"),
    ],
)
def test_secrets_do_not_leave_the_vm(text: str, secret: str) -> None:
    told = masked(text, ["s3cr3t-token"])
    assert secret not in told
    assert HIDDEN in told


@pytest.mark.parametrize(
    "text",
    [
        "ssl.key.password = null",
        "ssl.keystore.password = [hidden]",
        "delegation.token.max.lifetime.ms = 604800000",
        "[Partition orders-0 broker=1000] Log loaded for partition orders-0 with initial high watermark 0",
        "Truncating partition orders-0 to 5",
    ],
)
def test_what_is_no_secret_can_be_read(text: str) -> None:
    assert masked(text) == text


def test_places_outlive_the_agent_and_damaged_ones_are_none(tmp_path: Path) -> None:
    path = tmp_path / "logs.json"
    assert places_in(path) == {}
    places: Mapping[str, FilePlace] = {"broker.log": FilePlace(5, 10, "ab")}
    keep_places(path, places)
    assert places_in(path) == places
    path.write_bytes(b"{")
    assert places_in(path) == {}


class TestDiskSpool:
    """What waits on disk."""

    def test_it_goes_on_with_what_an_earlier_agent_left(self, tmp_path: Path) -> None:
        spool = DiskSpool(tmp_path, most_bytes=10_000)
        for n in range(4):
            spool.put(Parcel(b"%d" % n, b"payload %d" % n))
        spool.done(spool.take())
        taken = spool.take()  # under way when the agent dies
        again = DiskSpool(tmp_path, most_bytes=10_000)
        assert again.take() == taken
        assert again.dropped == 0

    def test_what_comes_back_has_its_old_place(self, tmp_path: Path) -> None:
        spool = DiskSpool(tmp_path, most_bytes=10_000)
        parcels = [Parcel(b"%d" % n, b"x") for n in range(3)]
        for parcel in parcels:
            spool.put(parcel)
        taken = [spool.take(), spool.take()]
        for parcel in taken:
            spool.put_back(parcel)
        assert [spool.take() for _ in range(3)] == parcels

    @settings(max_examples=50, deadline=None)
    @given(st.lists(st.integers(0, 400), max_size=40))
    def test_it_never_grows_past_its_bound_and_the_oldest_give_way(self, sizes: list[int]) -> None:
        with TemporaryDirectory() as directory:
            spool = DiskSpool(Path(directory), most_bytes=1000)
            for n, size in enumerate(sizes):
                spool.put(Parcel(b"%d" % n, os.urandom(size)))
                assert sum(p.stat().st_size for p in Path(directory).iterdir()) <= 1000
            kept = [int(spool.take().key) for _ in range(len(spool))]
            assert kept == list(range(len(sizes) - len(kept), len(sizes)))
            assert spool.dropped == len(sizes) - len(kept)

    def test_a_file_a_power_cut_has_torn_is_passed_over_and_counted(self, tmp_path: Path) -> None:
        spool = DiskSpool(tmp_path, most_bytes=10_000)
        spool.put(Parcel(b"a", b"1"))
        spool.put(Parcel(b"b", b"2"))
        first = min(tmp_path.iterdir())
        first.write_bytes(first.read_bytes()[:-4])
        assert spool.take().key == b"b"
        assert spool.dropped == 1

    def test_a_disk_that_refuses_costs_the_message_and_nothing_else(self, tmp_path: Path) -> None:
        spool = DiskSpool(tmp_path / "gone", most_bytes=10_000)
        (tmp_path / "gone").rmdir()
        spool.put(Parcel(b"a", b"1"))
        assert len(spool) == 0
        assert spool.dropped == 1


def test_times_are_told_in_utc() -> None:
    (entry,) = split(kafka_line(5).encode(), begins=0, is_all=True, zone=UTC).entries
    assert entry.at == datetime(2026, 3, 1, 10, 0, 5, 5000, tzinfo=UTC)
