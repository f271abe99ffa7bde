"""Where API keys come from: settings, environment, the keyring of the system."""
