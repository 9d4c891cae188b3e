# Pinned exactly: a plan must not change because a provider did. The lock file is made at the first init and kept.
terraform {
  required_version = ">= 1.9.0"

  required_providers {
    upcloud = {
      source  = "UpCloudLtd/upcloud"
      version = "5.41.0"
    }
  }
}
