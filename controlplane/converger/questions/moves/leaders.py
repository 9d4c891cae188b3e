"""Partitions that others lead than the first replica of their list."""

from planner.observed import KafkaSnapshot, TopicPartition, once_a_reading


@once_a_reading
def displaced_leaders(kafka: KafkaSnapshot) -> tuple[TopicPartition, ...]:
    """Partitions led by another replica though their first one is live and in the ISR. Asked thrice at every tick."""
    live = kafka.live_brokers()
    return tuple(
        p.name
        for p in kafka.partitions
        if p.replicas and not p.is_moving and p.leader != p.replicas[0] and p.replicas[0] in p.isr
        if p.replicas[0] in live
    )
