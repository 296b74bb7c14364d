"""Start-up of `embcalc estimate` beside an empty Typer program, in one run.

Both run in fresh processes, alternating, so that a noisy machine disturbs both alike. Prints the
two medians, their ratio and the difference. The aim is at most 30 ms more.

Usage: python benchmarks/startup.py [ROUNDS]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EMPTY = """
import typer
app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)

@app.command()
def main() -> None:
    typer.echo("nothing")

app()
"""
ESTIMATE = ["-m", "embcalc", "estimate", "--vocab-size", "150000", "--hidden-size", "2560"]
PRESET = ["-m", "embcalc", "estimate", "llama-3-8b"]


def seconds(arguments: list[str]) -> float:
    """Wall time of one fresh interpreter."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main(rounds: int) -> None:
    """Run the comparison and print it."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "empty.py"
        script.write_text(EMPTY)
        contenders = {"empty Typer": [str(script)], "estimate": ESTIMATE, "estimate preset": PRESET}
        for arguments in contenders.values():
            seconds(arguments)
        times: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(rounds):
            for name, arguments in contenders.items():
                times[name].append(seconds(arguments))
    base = statistics.median(times["empty Typer"])
    for name, measured in times.items():
        median = statistics.median(measured)
        more = (median - base) * 1000
        print(f"{name:16} {median * 1000:7.1f} ms  ratio {median / base:4.2f}  {more:+6.1f} ms")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
