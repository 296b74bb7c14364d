"""Any number of models → one run: every model is checked, whatever happens to the others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from multiprocessing import active_children
from os import PathLike, fspath

from embcalc.core.inputs import forget, inputs, remember
from embcalc.core.progress import Progress, silent
from embcalc.core.reports.check_run import CheckedModel, CheckRun, Unreadable
from embcalc.errors import EmbcalcError, UsageError
from embcalc.usecases.check_model import check_model
from embcalc.usecases.check_vocab import CheckOptions, selection_of
from embcalc.usecases.patterns import expand

Options = Callable[[str], CheckOptions]
"""The options of one model, by its address."""
Address = str | PathLike[str]
"""A local path, a hub id, another address, or a pattern."""
MOST_WORKERS = 4
"""Threads that read a table at once; more do not read faster than memory gives."""
Outcome = CheckedModel | Unreadable


def check(
    models: Address | Sequence[Address],
    options: CheckOptions | Options | None = None,
    *,
    jobs: int = 1,
    progress: Progress = silent,
) -> CheckRun:
    """Check models: rules about headers and text files first, then those about rows.

    A model that cannot be read is listed as such and stops nothing.

    Args:
        models: addresses or patterns such as `models/*`.
        options: for all models, or a function that gives those of one.
        jobs: models checked at the same time, each in a process of its own.
        progress: told about the bytes read; not with several jobs.

    Raises:
        UsageError: no model is named, `jobs` is below 1, or a code names no rule.
    """
    if jobs < 1:
        raise UsageError("--jobs is below 1", hint="give the number of models to check at once")
    listed = (models,) if isinstance(models, str | PathLike) else models
    typed = tuple(fspath(model) for model in listed)
    named, empty = expand(typed)
    if not named and not empty:
        raise UsageError("no model to check", hint="name a folder: embcalc check .")
    chosen = options if callable(options) else _same(options or CheckOptions())
    work = [(model, chosen(model)) for model in named]
    for _, own in work:
        selection_of(own.select, own.ignore)
    if jobs == 1 or len(work) < 2:
        workers = min(MOST_WORKERS, os.cpu_count() or 1)
        outcomes = [_outcome(*item, workers=workers, progress=progress) for item in work]
    else:
        outcomes = list(_in_processes(work, min(jobs, len(work))))
    single = len(typed) == len(named) == 1 and not empty and named[0] == typed[0]
    return CheckRun(
        single=single,
        models=tuple(outcome for outcome in outcomes if isinstance(outcome, CheckedModel)),
        unreadable=(
            *(outcome for outcome in outcomes if isinstance(outcome, Unreadable)),
            *(_no_match(pattern) for pattern in empty),
        ),
    )


def _same(options: CheckOptions) -> Options:
    return lambda _: options


def _no_match(pattern: str) -> Unreadable:
    return Unreadable(
        model=pattern,
        error=f"no folder and no weights match {pattern}",
        hint="check the folder that it starts from",
    )


def _outcome(
    model: str, options: CheckOptions, *, workers: int = 1, progress: Progress = silent
) -> Outcome:
    try:
        return check_model(model, options, workers=workers, progress=progress)
    except EmbcalcError as error:
        return Unreadable(model=model, error=error.message, hint=error.hint)


def _in_processes(work: Sequence[tuple[str, CheckOptions]], jobs: int) -> Iterator[Outcome]:
    others = set(active_children())
    with ProcessPoolExecutor(jobs, initializer=_end_on_interrupt) as pool:
        try:
            chunk = min(8, -(-len(work) // jobs))
            for outcome, files in pool.map(_outcome_of, work, chunksize=chunk):
                for file in files:
                    remember(file)
                yield outcome
        except BrokenExecutor as error:
            raise UsageError(
                "a process that was checking models was ended from outside",
                hint="too little memory? try fewer --jobs",
            ) from error
        except BaseException:
            # Nobody wants the rest: do not wait for what the processes are doing.
            for process in set(active_children()) - others:
                process.terminate()
            raise


def _outcome_of(item: tuple[str, CheckOptions]) -> tuple[Outcome, tuple[str, ...]]:
    """What was found, and the local files that were read for it: none is to be written over."""
    forget()
    return _outcome(*item), inputs()


def _end_on_interrupt() -> None:
    """Ctrl-C reaches all processes of a terminal; only the first has something to say."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)
