"""What users may do: their ACLs, quotas and credentials as they are declared beside what Kafka has. Pure."""
