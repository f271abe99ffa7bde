"""The record kinds by family, each registered with `log.record`. Packages above the log add theirs in the same way."""
