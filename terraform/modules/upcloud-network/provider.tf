# Credentials come from the environment. The provider has no argument for the account it may act on.
provider "upcloud" {}
