"""Google Cloud: VMs by Terraform (`terraform/modules/google`), read and deleted through google-cloud-compute."""
