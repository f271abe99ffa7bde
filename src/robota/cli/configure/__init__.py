"""`--configure`, `--configure-provider` and the other options that change the user's settings."""
