"""Kafka's own admin messages, by what they are about; `controlplane.kafka.admin.AdminGateway` is all of them."""
