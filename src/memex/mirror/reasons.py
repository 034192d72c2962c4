"""Reasons why files of a folder are left out, in words for people."""

from memex.distribution import install_command
from memex.mirror.extraction import EXTRA

REASONS = {
    "binary": "no text",
    "encrypted": "encrypted",
    "encoding": "neither UTF-8 nor Latin-1",
    "env": "file of environment variables",
    "excluded": "excluded by a pattern",
    "folder": "folder of git, of installed packages or of builds",
    "ignored": "ignored by git",
    "key": "key or login",
    "link": "link within the folder",
    "link_out": "link out of the folder",
    "lock_file": "lock file",
    "name": "name that cannot be sent",
    "no_extra": f"PDF, DOCX or HTML, which needs: {install_command(EXTRA)}",
    "secret": "holds a secret",
    "special": "no regular file",
    "too_hard": "takes too long or too much memory to read",
    "too_large": "over 1 MiB of text, or a file of over 32 MiB",
    "unreadable": "cannot be read",
}
