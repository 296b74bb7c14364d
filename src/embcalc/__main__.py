"""The `embcalc` program, and `python -m embcalc`."""

import os


def run() -> None:
    """Run the command line; Ctrl-C while it is still being imported ends it like any other."""
    try:
        from embcalc.cli.app import entry_point

        entry_point()
    except KeyboardInterrupt:
        os._exit(130)


if __name__ == "__main__":
    run()
