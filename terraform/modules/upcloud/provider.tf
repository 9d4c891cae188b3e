# Credentials come from the environment of the run and nowhere else. The provider has no argument for the account it may
# act on: Kedge asks UpCloud whose the credentials are right before each run.
#
# Nothing is tried again: a create whose answer was lost, tried again, makes a twin. (5.41.0 never does, whatever is
# written here; a later one might.) A run that was throttled ends, and is taken up again.
provider "upcloud" {
  retry_max = 0
}
