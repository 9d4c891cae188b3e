"""What goes wrong inside a service that still runs: read as vitals, judged into findings with their numbers."""
