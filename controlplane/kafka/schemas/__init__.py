"""Message layouts of Kafka APIs 64, 80 and 81 in the form kafka-python compiles, one file per message."""
