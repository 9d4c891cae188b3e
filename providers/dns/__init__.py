"""Names of clusters and nodes in a DNS zone: one port, kept by dynamic updates (RFC 2136) or by Route 53."""
