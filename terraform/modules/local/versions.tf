# Terraform itself is all this module needs: `terraform_data` is built in, so init never touches the network.
terraform {
  required_version = ">= 1.9.0"
}
