# Pinned exactly: a plan must not change because a provider did. The lock file is made at the first init and kept.
terraform {
  required_version = ">= 1.9.0"

  required_providers {
    digitalocean = {
      source  = "digitalocean/digitalocean"
      version = "2.99.1"
    }
  }
}
