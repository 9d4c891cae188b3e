"""Topics as they are declared beside what Kafka shows: where replicas go, and what is to be changed next. Pure."""
