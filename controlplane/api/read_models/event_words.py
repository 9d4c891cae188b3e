"""Events of rolls, drains, rebalances and users as sentences: what comes most in a history. Pure."""

from collections.abc import Callable, Mapping
from typing import Any

from events.quantities import counted, named
from planner.quantities import human_bytes

Said = Callable[[Mapping[str, Any]], str]


def _moved(data: Mapping[str, Any]) -> str:
    return f"{counted(data['moves'], 'move')}, {human_bytes(data['bytes'])}"


def _batch(data: Mapping[str, Any]) -> str:
    return f"batch {data['batch'] + 1} began: {_moved(data)}"


def _users(names: list[str]) -> str:
    return f"{'user' if len(names) == 1 else 'users'} {named(names)}"


def _users_changed(data: Mapping[str, Any]) -> str:
    deleted = f"{_users(data['deleted'])} deleted" if data["deleted"] else ""
    settled = f"{_users(data['settled'])} as declared in Kafka" if data["settled"] else ""
    left = f"{_users(data['left'])} not yet" if data["left"] else ""
    return ", ".join(part for part in (settled, deleted, left) if part) or "users in Kafka were changed"


def _trouble(one: Mapping[str, Any]) -> str:
    if not one["reason"]:
        return f"user {one['name']} can be as declared again"
    return f"user {one['name']} is not as declared ({one['reason']}): {one['message']}"


WORDS: dict[str, Said] = {
    "quorum.founded": lambda d: f"the quorum is founded by controllers {named([v['id'] for v in d['voters']])}",
    "instance.joined": lambda d: f"{d['key']} has joined, its id is {d['service_id']}",
    "instance.join_failed": lambda d: f"{d['key']} did not join: {d['reason']}",
    "instance.takeover_failed": lambda d: f"{d['key']} does not serve from the disk it took over: {d['reason']}",
    "instance.reconfigured": lambda d: f"{d['key']}, which Kafka refused to start as told, is told {d['reason']}",
    "instance.lost": lambda d: f"{d['key']} is lost: {d['reason']}",
    "instance.drained": lambda d: f"{named(d['keys'])} emptied: {_moved(d)}",
    "instance.fence_requested": lambda d: f"{named(d['keys'])} to be stopped: {d['reason']}",
    "instance.fenced": lambda d: f"{d['key']} has stopped, by the word of {d['proof']}",
    "broker.unregistered": lambda d: f"broker {d['service_id']} ({d['key']}) is registered no more",
    "release.requested": lambda d: f"disk and address of {d['key']} to be released",
    "release.completed": lambda d: "disk and address are released",
    "bind.requested": lambda d: f"disk and address to be given to {d['key']}",
    "bind.completed": lambda d: "disk and address are given",
    "producer_quota.lowered": lambda d: f"producers are to be slowed, disks are nearly full: {d['reason']}",
    "producer_quota.restore_requested": lambda d: f"producers are to be slowed no more: {d['reason']}",
    "producer_quota.restored": lambda d: "the default quota of producers is Kedge's no more",
    "quotas.change_requested": lambda d: f"quotas of clients to be changed: {d['reason']}",
    "quotas.changed": lambda d: (
        f"Kafka refused quotas: {d['refused']}" if d.get("refused") else "quotas are as declared"
    ),
    "growth.decided": lambda d: f"disks of pool {d['pool']} are to have {d['size_gib']} GiB each: {d['reason']}",
    "retire.requested": lambda d: f"{named(d['keys'])} to be deleted: {d['reason']}",
    "quorum.stop_requested": lambda d: f"controllers and ZooKeeper servers to be stopped: {d['reason']}",
    "retire.completed": lambda d: "what was to be deleted is gone",
    "replacement.completed": lambda d: f"{d['new']} has taken the place of {d['old']}",
    "drain.requested": lambda d: f"{named(d['keys'])} to be emptied, round {d['round']}: {d['reason']}",
    "drain.batch_started": _batch,
    "finalisation.requested": lambda d: f"{d['feature']} to be raised to {d['level']}: {d['reason']}",
    "feature.finalised": lambda d: f"{d['feature']} is {d['level']} for good",
    "offline.fix_requested": lambda d: f"replicas of brokers {named(d['brokers'])} to be made anew: {d['reason']}",
    "offline.fix_ended": lambda d: f"brokers {named(d['brokers'])} are given up no more: {d['reason']}",
    "disk_moves.requested": lambda d: (
        f"broker {d['broker']}: {'empty ' + d['path'] if d['path'] else 'even out its disks'}: {d['reason']}"
    ),
    "disk_moves.cancel_requested": lambda d: f"no more moves between disks of broker {d['broker']}: {d['reason']}",
    "disk_moves.throttled": lambda d: (
        f"moves between disks of broker {d['broker']} go at {human_bytes(d['bytes_per_s'])}/s: {d['reason']}"
    ),
    "disk_moves.ended": lambda d: f"moves between disks of broker {d['broker']}: {d['reason']}",
    "replication_factor.requested": lambda d: (
        f"topics {named(d['topics'])} to have {counted(d['factor'], 'replica')}: {d['reason']}"
    ),
    "replication_factor.ended": lambda d: f"replication factor of topics {named(d['topics'])}: {d['reason']}",
    "brokers.demote_requested": lambda d: f"{named(d['keys'])} to lead nothing: {d['reason']}",
    "brokers.undemote_requested": lambda d: f"{named(d['keys'])} may lead again: {d['reason']}",
    "rebalance.requested": lambda d: f"a rebalance is asked for: {d['reason']}",
    "rebalance.batch_started": _batch,
    "rebalance.completed": lambda d: f"the rebalance is over: {_moved(d)}",
    "overlay.public_addresses_seen": lambda d: (
        f"peers in the overlay call {d['key']} at {', '.join(d['addresses']) or 'no public address'} from here on"
    ),
    "overlay.key_reported": lambda d: f"peers in the overlay know {d['key']} from here on (epoch {d['epoch']})",
    "users.declared": lambda d: f"declared {_users([u['name'] for u in d['users']])} from {d['source']}",
    "users.undeclared": lambda d: f"no file of {d['source']} declares {_users(d['names'])} any more",
    "users.change_requested": lambda d: f"Kafka's users to be changed: {d['reason']}",
    "users.changed": _users_changed,
    "users.troubled": lambda d: "; ".join(_trouble(one) for one in d["troubles"][:3]),
    "user.password_requested": lambda d: f"user {d['name']} to get another password: {d['reason']}",
    "user.password_collected": lambda d: f"the password of user {d['name']} is collected",
    "user.password_delivered": lambda d: f"the password of user {d['name']} is in sink {d['sink']}",
    "users.undelivered": lambda d: "; ".join(_trouble(one) for one in d["troubles"][:3]),
    "user.certificate_issued": lambda d: f"a certificate of user {d['name']} is signed, until {d['until'][:10]}",
    "user.deletion_requested": lambda d: f"user {d['name']} to be deleted: {d['reason']}",
    "user.released": lambda d: f"user {d['name']} stays in Kafka, and is let go of: {d['reason']}",
}
