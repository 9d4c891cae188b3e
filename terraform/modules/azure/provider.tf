# Credentials come from the environment of the run and nowhere else. The subscription and its tenant are named here: each
# call goes to that subscription by its address, and a token of another tenant is refused there. Nothing is registered on
# the subscription behind anybody's back. A VM is shut down before it is deleted, and its own disk goes with it.
provider "azurerm" {
  subscription_id                 = var.cloud["account_id"]
  tenant_id                       = var.cloud["tenant_id"]
  resource_provider_registrations = "none"

  features {
    virtual_machine {
      delete_os_disk_on_deletion     = true
      skip_shutdown_and_force_delete = false
    }
  }
}
