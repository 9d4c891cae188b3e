"""Amazon Web Services: EC2 by Terraform (`terraform/modules/aws`), read and terminated through boto3."""
