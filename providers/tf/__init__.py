"""Terraform as a tool: rendered workspaces, guarded runs, plans read as data. Knows no cloud."""
