"""Erasing words for good, as a person or an administrator asks for it: what is meant, the preview, the receipt."""
