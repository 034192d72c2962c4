"""Names of the members of a zip, and the errors for those that are dangerous or unreadable."""

import re
import stat
import struct
import zipfile
import zlib

from memex.errors import InvalidPath, Refused, ValidationFailed

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the others let a member ask for gigabytes of memory
BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError, OSError)
IS_ENCRYPTED, _IS_UTF8 = 0x1, 0x800
_DRIVE = re.compile(r"[A-Za-z]:/")


def name_of(info: zipfile.ZipInfo) -> str:
    """Return the whole name of a member.

    Many programs write UTF-8 without saying so. Python then reads the name as cp437, and this function undoes that.
    """
    if info.flag_bits & _IS_UTF8:
        return info.orig_filename
    try:
        return info.orig_filename.encode("cp437").decode()
    except UnicodeError:
        return info.orig_filename


def reason_of(error: BaseException) -> str:
    """Return why something could not be read, in the words of the system."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


def unsafe_member(name: str, info: zipfile.ZipInfo) -> Refused | None:
    """Return the error for a member that would endanger a file system; None for a safe one."""
    if error := unsafe_name(name):
        return error
    if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
        return ValidationFailed("It is no regular file but a link or a device.")
    return None


def unsafe_name(name: str) -> InvalidPath | None:
    """Return the error for a name that leads elsewhere; None for a safe one."""
    if name.startswith("/") or _DRIVE.match(name):
        return InvalidPath("The name is absolute.")
    if ".." in name.split("/"):
        return InvalidPath("The name leads out of the folder.")
    if "\\" in name:
        return InvalidPath("The name holds a backslash.")
    return None
