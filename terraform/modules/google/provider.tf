# Credentials come from the environment of the run and nowhere else (a token that ends with the hour). The project stands
# in every address that is called, so credentials of another project are refused by Google itself. Labels are ours alone:
# the provider would add one of its own.
provider "google" {
  project                         = var.cloud["project"]
  region                          = var.region
  add_terraform_attribution_label = false
}
