"""The tokenizer of a folder, whatever its format."""

from __future__ import annotations

from dataclasses import replace

from embcalc.core.files import Folder
from embcalc.core.tokenizer_facts import FileProblem, TokenizerFacts
from embcalc.core.vocabulary import Vocabulary
from embcalc.errors import EmbcalcError, LfsPointerError, TokenizerError
from embcalc.tokenizers.assemble import assemble, surroundings
from embcalc.tokenizers.formats import byte_tokenizer, find, reader_of
from embcalc.tokenizers.settings import Settings, problem_of, read_settings


def read_vocabulary(folder: Folder, name: str | None = None) -> Vocabulary | None:
    """Read the vocabulary of a folder, or the one file of it that is named.

    Args:
        folder: where to look.
        name: a tokenizer file; None looks for one.

    Returns:
        The vocabulary with the effective ids, or None where the folder has no tokenizer.

    Raises:
        TokenizerError: a file is broken, or of no known format.
        SourceError: a file cannot be read.
    """
    facts = read_tokenizer(folder, name)
    if facts.vocabulary is None and facts.problems:
        raise _error(facts.problems[0])
    return facts.vocabulary


def _error(problem: FileProblem) -> TokenizerError:
    kind = LfsPointerError if problem.pointer else TokenizerError
    return kind(problem.message, problem.hint)


def read_tokenizer(folder: Folder, name: str | None = None) -> TokenizerFacts:
    """Read everything that the files of a tokenizer say; broken files become problems.

    Args:
        folder: where to look.
        name: a tokenizer file; None looks for one.

    Raises:
        SourceError: the folder cannot be listed.
    """
    file = find(folder) if name is None else name
    prefix = f"{file.rpartition('/')[0]}/" if file and "/" in file else ""
    settings = read_settings(folder, prefix)
    python = _python_class(settings)
    around = surroundings(folder, settings, prefix)
    if name is None and python and (file is None or not file.endswith("tokenizer.json")):
        reason = f"the tokenizer is Python code ({python}), which is not run"
        return replace(around, absent=reason, python_class=python)
    if file is None:
        made = byte_tokenizer(folder, settings)
        if made is not None:
            return assemble(folder, made, settings, prefix)
        return replace(around, absent=_absent(settings))
    try:
        base = reader_of(folder, file, settings)(folder, file)
    except EmbcalcError as error:
        problems = (problem_of(file, error), *around.problems)
        return replace(around, absent=f"{file} cannot be read", problems=problems)
    return assemble(folder, base, settings, prefix)


def _absent(settings: Settings) -> str:
    if settings.problems:
        return f"{settings.problems[0].file} cannot be read, and there is no other tokenizer file"
    return "no tokenizer file"


def _python_class(settings: Settings) -> str | None:
    """The class of a tokenizer that is code of the model's own."""
    mapping = settings.config.get("auto_map")
    value = mapping.get("AutoTokenizer") if isinstance(mapping, dict) else None
    classes = value if isinstance(value, list) else [value]
    return next((item for item in classes if isinstance(item, str) and item), None)
