"""UpCloud: servers and storages by Terraform (`terraform/modules/upcloud`), read and stopped through upcloud-api."""
