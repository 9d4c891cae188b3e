"""Disks of a real VM: which block device is which volume, a filesystem on a new one, and where they are mounted."""
