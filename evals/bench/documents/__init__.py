"""The time of mirroring documents: over HTTP by the service, and by the command `memex docs`."""
