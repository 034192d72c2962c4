"""Sizes in bytes, as people read them."""

UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def format_size(size_bytes: int) -> str:
    """Return a size in a readable form: `512 B`, `1.5 MiB`."""
    size, unit = float(size_bytes), 0
    while size >= 1024 and unit < len(UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.0f} {UNITS[unit]}" if unit == 0 else f"{size:.1f} {UNITS[unit]}"
