"""What Prometheus is told of the server, its clusters and their services."""
