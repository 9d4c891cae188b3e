# Credentials come from the environment. The account is checked before anything of it is read or changed.
provider "aws" {
  region              = var.region
  allowed_account_ids = [var.cloud["account_id"]]
}
