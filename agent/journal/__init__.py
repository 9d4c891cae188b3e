"""Lines of the services' logs and of the agent's, on their way to Kafka. The log files themselves are the spool."""
