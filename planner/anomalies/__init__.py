"""Anomalies: what is not as it should be in a cluster, of six kinds, from its finding to its end. Pure."""
