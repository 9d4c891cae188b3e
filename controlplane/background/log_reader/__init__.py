"""Lines of the logs of a cluster's VMs: the topic agents send them to, and reading it for people."""
