"""The `local` cloud: regions, zones, VMs, disks and addresses made of this machine's processes and directories.

Nothing is imported here: Terraform starts `python -m providers.local` for every resource, and it must start fast.
"""
