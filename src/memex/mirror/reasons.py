"""Reasons why files of a folder are left out, in words for people."""

REASONS = {
    "binary": "no text",
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
    "secret": "holds a secret",
    "special": "no regular file",
    "too_large": "over 1 MiB",
    "unreadable": "cannot be read",
}
