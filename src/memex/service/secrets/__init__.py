"""What a service does about secrets in the texts that come in."""
