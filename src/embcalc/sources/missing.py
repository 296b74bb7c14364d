"""What to say about a path that leads nowhere."""

from __future__ import annotations

from pathlib import Path


def advice(address: str) -> str:
    """What to do about a path where nothing is."""
    if address.startswith("~"):
        return "~ is left as it is within quotes; write $HOME, or leave the quotes out"
    missing = what_is_missing(address)
    if missing is not None:
        return missing
    if address.strip("/").count("/") == 2 and not address.startswith((".", "/")):
        return f"a file of a hub repository is written hf://{address}"
    return "check the path; a model on the hub is written org/name"


def what_is_missing(address: str) -> str | None:
    """Name the first part of a path that is not there, and what there is instead.

    None where not even its first part is a folder, and nothing beside it has a like name.
    """
    path = Path(address)
    while len(path.parts) > 1 and not path.parent.is_dir():
        path = path.parent
    parent = path.parent
    at_hand = parent in (Path(), Path("/"))
    close = [str(parent / name) for name in _close(path.name, parent, 0.7 if at_hand else 0.5)]
    instead = f"; did you mean {' or '.join(close)}?" if close else ""
    if at_hand:
        return f"there is no {path.name} here{instead}" if close else None
    return f"{parent} has no {path.name}{instead}"


def _close(name: str, folder: Path, likeness: float) -> list[str]:
    """Names in a folder that are like another one, hidden ones left out."""
    from difflib import get_close_matches

    try:
        names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    except OSError:
        return []
    return get_close_matches(name, names[:10_000], n=2, cutoff=likeness)
