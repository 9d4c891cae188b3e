"""An encrypted IPv6 network between the nodes of a cluster: tunnels by WireGuard, and the best path to each node."""
