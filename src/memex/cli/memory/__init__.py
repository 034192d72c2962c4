"""Commands on memory: the two tools of an agent, files, versions, import and export."""
