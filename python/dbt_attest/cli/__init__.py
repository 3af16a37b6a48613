"""The command `attest`, one file a verb."""
