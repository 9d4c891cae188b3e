"""Telling people and machines elsewhere of anomalies: by webhook, by a Kafka topic, by the log."""
