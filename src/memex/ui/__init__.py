"""The web UI at `/ui`: pages for people, which call the service as the HTTP routes do."""
