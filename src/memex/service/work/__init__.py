"""Where work stands: asked, checked, and decided by hand."""
