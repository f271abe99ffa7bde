"""`robota trust`: trust in the configuration of a workspace, and in files outside that its instructions include."""
