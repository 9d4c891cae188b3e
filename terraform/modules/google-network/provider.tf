# Credentials come from the environment. The project stands in every address that is called.
provider "google" {
  project                         = var.cloud["project"]
  region                          = var.region
  add_terraform_attribution_label = false
}
