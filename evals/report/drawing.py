"""The set-up of matplotlib, which draws plots, and whose caches would otherwise lie in the home folder.

Whatever draws imports matplotlib from here. Its list of fonts holds those that it brings along, in a temporary
folder that goes with the process; so plots have the same measures on each machine.
"""

import os
from tempfile import TemporaryDirectory

_caches = TemporaryDirectory(prefix="memex-matplotlib-")
os.environ["MPLCONFIGDIR"] = os.environ.get("MPLCONFIGDIR") or _caches.name
os.environ["MPL_IGNORE_SYSTEM_FONTS"] = "1"

# They read these variables when they are imported.
from matplotlib import rc_context  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.ticker import NullFormatter, ScalarFormatter  # noqa: E402

__all__ = ["Axes", "Figure", "NullFormatter", "ScalarFormatter", "rc_context"]
