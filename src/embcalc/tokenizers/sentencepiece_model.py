"""SentencePiece .model files, with the ids that each tokenizer class makes of its pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from embcalc.core.files import Folder
from embcalc.core.vocabulary import Declared, TextForm, Vocabulary, append_added
from embcalc.errors import TokenizerError
from embcalc.tokenizers.base import BaseRead
from embcalc.tokenizers.files import read_bytes
from embcalc.tokenizers.languages import MBART, MBART50, placeholders
from embcalc.tokenizers.settings import Settings

FORMAT = "sentencepiece"
NLLB_LANGUAGES = 202


@dataclass(frozen=True, slots=True)
class Layout:
    """Texts by id, and what the class appends behind them."""

    texts: list[str]
    appended: tuple[str, ...] = ()


Maker = Callable[[Sequence[str], Settings], Layout]


def sentencepiece_reader(kind: str, settings: Settings) -> Callable[[Folder, str], BaseRead]:
    """The reader for one tokenizer class.

    Args:
        kind: the class in lower case without `Tokenizer`: `t5`, `xlmroberta`; any other name
            takes the pieces as they are.
        settings: the files beside the model.
    """

    def read(folder: Folder, name: str) -> BaseRead:
        """Read a .model file.

        Raises:
            TokenizerError: it is broken, or empty.
            SourceError: it cannot be read.
        """
        pieces, controls = _pieces(read_bytes(folder, name), name)
        layout = LAYOUTS.get(kind, _plain)(pieces, settings)
        base = {text: index for index, text in enumerate(layout.texts)}
        special = [Declared(text=text, special=True) for text in controls if text in base]
        appended = [Declared(text=text, special=True, file=name) for text in layout.appended]
        vocabulary = Vocabulary(
            format=FORMAT,
            file=name,
            form=TextForm.SENTENCEPIECE,
            base=base,
            listed=layout.texts if len(base) != len(layout.texts) else None,
            added=append_added(base, len(layout.texts), [*special, *appended]),
        )
        return BaseRead(vocabulary=vocabulary, base_count=len(layout.texts))

    return read


def _pieces(content: bytes, name: str) -> tuple[list[str], list[str]]:
    """All pieces by id, and those of them that are control pieces."""
    from sentencepiece import SentencePieceProcessor

    try:
        processor = SentencePieceProcessor(model_proto=content)
        count = processor.vocab_size()
        pieces: list[str] = processor.id_to_piece(list(range(count)))
        controls = [piece for i, piece in enumerate(pieces[:2000]) if processor.is_control(i)]
    except (RuntimeError, UnicodeDecodeError, ValueError) as error:
        reason = str(error).rpartition("] ")[2].strip() or "its bytes are no such model"
        raise TokenizerError(
            f"{name} is no SentencePiece model that can be read: {reason}",
            hint="download the file again",
        ) from error
    if not pieces:
        raise TokenizerError(f"{name} has an empty vocabulary", "download the file again")
    return pieces, controls


def _plain(pieces: Sequence[str], _settings: Settings) -> Layout:
    return Layout(list(pieces))


def _t5(pieces: Sequence[str], settings: Settings) -> Layout:
    """The extra ids come behind the pieces, the last of them first."""
    stated = settings.config.get("extra_ids", 100)
    extra = stated if isinstance(stated, int) and 0 <= stated <= 10_000 else 100
    return Layout(list(pieces), tuple(f"<extra_id_{i}>" for i in reversed(range(extra))))


def _shifted(pieces: Sequence[str], appended: Sequence[str]) -> Layout:
    """Fairseq's four come first, and every piece moves up by one."""
    return Layout(["<s>", "<pad>", "</s>", "<unk>", *pieces[3:]], tuple(appended))


def _xlm_roberta(pieces: Sequence[str], _settings: Settings) -> Layout:
    return _shifted(pieces, ("<mask>",))


def _mbart(pieces: Sequence[str], _settings: Settings) -> Layout:
    return _shifted(pieces, (*MBART, "<mask>"))


def _mbart50(pieces: Sequence[str], _settings: Settings) -> Layout:
    return _shifted(pieces, (*MBART50, "<mask>"))


def _nllb(pieces: Sequence[str], settings: Settings) -> Layout:
    named = [item.text for item in settings.further() if item.text != "<mask>"]
    return _shifted(pieces, (*(named or placeholders(NLLB_LANGUAGES)), "<mask>"))


def _xglm(pieces: Sequence[str], _settings: Settings) -> Layout:
    return _shifted(pieces, [f"<madeupword{i}>" for i in range(7)])


def _camembert(pieces: Sequence[str], _settings: Settings) -> Layout:
    head = ["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED"]
    return Layout([*head, *pieces[1:]], ("<mask>",))


def _pegasus(pieces: Sequence[str], _settings: Settings) -> Layout:
    """105 ids of its own, then the pieces from the third on: 103 more than pieces."""
    head = ["<pad>", "</s>", "<mask_1>", "<mask_2>", *(f"<unk_{i}>" for i in range(2, 103))]
    return Layout([*head, *pieces[2:]])


LAYOUTS: dict[str, Maker] = {
    "t5": _t5,
    "xlmroberta": _xlm_roberta,
    "mbart": _mbart,
    "mbart50": _mbart50,
    "nllb": _nllb,
    "xglm": _xglm,
    "camembert": _camembert,
    "pegasus": _pegasus,
}
"""Classes that do not take a piece's number for its id."""
