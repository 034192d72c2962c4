"""Vaults: imports of Markdown files into memory, and exports of memory."""
