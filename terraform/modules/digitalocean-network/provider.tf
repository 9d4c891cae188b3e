# The token comes from the environment. Look whose it is first: the provider cannot be told which account it must be of.
provider "digitalocean" {}
