"""Other vocabulary files beside the one that counts: do they say the same?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from embcalc.core.files import Folder, is_lfs_pointer, lfs_pointer_error
from embcalc.core.tokenizer_facts import FileProblem, Sibling
from embcalc.core.vocabulary import Vocabulary
from embcalc.errors import EmbcalcError
from embcalc.tokenizers.files import read_json, read_text
from embcalc.tokenizers.formats import is_tokenizer_file
from embcalc.tokenizers.settings import problem_of
from embcalc.tokenizers.vocab_txt import read_vocab_txt

_KEPT = 8


def siblings(
    folder: Folder, vocabulary: Vocabulary, prefix: str, problems: list[FileProblem]
) -> tuple[Sibling, ...]:
    """Vocabulary files that differ from the vocabulary; broken ones are added to `problems`."""
    problems.extend(_pointers(folder, vocabulary.file, prefix))
    found = []
    for name, compare in _COMPARED.items():
        file = prefix + name
        if file == vocabulary.file or file not in folder.names():
            continue
        try:
            sibling = compare(folder, file, vocabulary)
        except EmbcalcError as error:
            problems.append(problem_of(file, error))
            continue
        if sibling is not None:
            found.append(sibling)
    return tuple(found)


def _pointers(folder: Folder, used: str, prefix: str) -> Iterator[FileProblem]:
    """Git LFS pointers in place of files that other programs take; a clone leaves them."""
    for name in folder.names():
        leaf = name.removeprefix(prefix)
        if name == used or "/" in leaf or leaf in _COMPARED or not is_tokenizer_file(name):
            continue
        try:
            file = folder.open(name)
            head = file.read(0, 1024) if file.local_path is not None else b""
        except EmbcalcError:  # it is not asked for what it says
            continue
        if is_lfs_pointer(head):
            yield problem_of(name, lfs_pointer_error(name, head))


def _vocab_json(folder: Folder, file: str, vocabulary: Vocabulary) -> Sibling | None:
    return _compare(file, read_json(folder, file, dict[str, int]), vocabulary)


def _vocab_txt(folder: Folder, file: str, vocabulary: Vocabulary) -> Sibling | None:
    return _compare(file, read_vocab_txt(folder, file).vocabulary.base, vocabulary)


def _compare(file: str, entries: Mapping[str, int], vocabulary: Vocabulary) -> Sibling | None:
    added = {token.text: token.id for token in vocabulary.added}
    base = vocabulary.base
    differing = [
        (text, token_id, there)
        for text, token_id in entries.items()
        if (there := added.get(text, base.get(text))) != token_id
    ]
    if not differing:
        return None
    kept = tuple(differing[:_KEPT])
    return Sibling(file=file, entries=len(entries), differing=kept, count=len(differing))


def _merges(folder: Folder, file: str, vocabulary: Vocabulary) -> Sibling | None:
    """Merges whose result the vocabulary does not know, where they are more than 1%."""
    if vocabulary.format != "tokenizer.json":
        return None
    total, unknown = 0, []
    for merged in _merged(read_text(folder, file)):
        total += 1
        if merged not in vocabulary.base:
            unknown.append((merged, total - 1, None))
    if len(unknown) * 100 <= total:
        return None
    return Sibling(file=file, entries=total, differing=tuple(unknown[:_KEPT]), count=len(unknown))


def _merged(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        left, space, right = line.rstrip("\r").partition(" ")
        if space and right and not line.startswith("#version"):
            yield left + right


_COMPARED = {"vocab.json": _vocab_json, "vocab.txt": _vocab_txt, "merges.txt": _merges}
"""Files that are read whole, and who compares them."""
