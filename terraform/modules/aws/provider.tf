# Credentials come from the environment of the run and nowhere else. The account is checked here a second time, by
# Terraform itself: no resource of another account is read or changed. Eight tries outlast a throttle; the provider's
# own 25 would hold a run for many minutes where there is no capacity, and nobody would be told.
provider "aws" {
  region              = var.region
  allowed_account_ids = [var.cloud["account_id"]]
  max_retries         = 8
}
