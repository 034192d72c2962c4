"""Project memory by the names that other memory servers use."""
