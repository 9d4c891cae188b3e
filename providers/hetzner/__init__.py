"""Hetzner Cloud: servers by Terraform (`terraform/modules/hetzner`), read and deleted through hcloud."""
