"""`kedge` on the command line: a client of the HTTP API, written for people first and for scripts as carefully."""
