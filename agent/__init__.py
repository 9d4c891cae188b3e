"""What runs on every VM: makes the desired document of its VM so, and reports. Imports nothing else of Kedge."""

__version__ = "0.1.0"
