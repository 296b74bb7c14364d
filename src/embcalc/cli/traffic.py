"""The line on stderr that says how much a run has read from other machines."""

from __future__ import annotations

import sys

from embcalc.cli.streams import say


def reset_traffic() -> None:
    """Begin to count anew: several command lines may run in one process."""
    if "embcalc.sources.traffic" in sys.modules:
        from embcalc.sources.traffic import TRAFFIC

        TRAFFIC.reset()


def tell_traffic() -> None:
    """Say how much was read over the network since, if anything."""
    # Commands that read no model have not imported the sources, and shall not for this.
    if "embcalc.sources.traffic" not in sys.modules:
        return
    from embcalc.render.layout import decimal_size
    from embcalc.sources.traffic import TRAFFIC

    if TRAFFIC.read:
        # The listing itself counts as read; of a tiny model it is more than all files.
        whole = TRAFFIC.available if TRAFFIC.available >= TRAFFIC.read else 0
        of = f" of {decimal_size(whole)}" if whole else ""
        say(f"read {decimal_size(TRAFFIC.read)}{of} over the network")
