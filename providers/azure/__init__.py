"""Microsoft Azure: virtual machines by Terraform (`terraform/modules/azure`), read and terminated through its SDK."""
