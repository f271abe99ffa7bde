"""What source code says: symbols by grammar, a map of the repository. May use the other packages of the workspace."""
