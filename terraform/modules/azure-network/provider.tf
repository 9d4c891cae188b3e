# Credentials come from the environment. Each call goes to this subscription by its address.
provider "azurerm" {
  subscription_id                 = var.cloud["account_id"]
  tenant_id                       = var.cloud["tenant_id"]
  resource_provider_registrations = "none"

  features {
    resource_group {
      prevent_deletion_if_contains_resources = true
    }
  }
}
