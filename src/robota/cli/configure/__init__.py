"""`--configure`, `--configure-provider` and the other options that change the person's settings."""
