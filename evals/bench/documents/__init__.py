"""How fast documents are: mirrored over HTTP by the service, and by the command `memex docs`."""
