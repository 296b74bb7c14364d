"""Whether any text encodes to a token."""

from __future__ import annotations

from functools import cached_property

from embcalc.core.display import token_text
from embcalc.core.files import Folder
from embcalc.core.vocabulary import TextForm, Vocabulary
from embcalc.errors import EmbcalcError
from embcalc.tokenizers.encode import Encoder, open_encoder


class Reach:
    """Answers for one tokenizer; its library is loaded with the first question.

    Args:
        folder: holds the tokenizer's files.
        vocabulary: as read from them.
    """

    def __init__(self, folder: Folder, vocabulary: Vocabulary) -> None:
        self._folder = folder
        self._vocabulary = vocabulary
        self._known: dict[int, bool | None] = {}

    @cached_property
    def _encoder(self) -> Encoder | None:
        try:
            return open_encoder(self._folder, self._vocabulary)
        except EmbcalcError:
            return None

    def encodes_to(self, token_id: int) -> bool | None:
        """Whether the token's own text encodes to it, alone, after a letter or after a sign.

        None where the tokenizer cannot be run.
        """
        if token_id not in self._known:
            self._known[token_id] = self._try(token_id)
        return self._known[token_id]

    def _try(self, token_id: int) -> bool | None:
        text = token_text(self._vocabulary, token_id)
        if text is None or self._encoder is None:
            return None
        if self._vocabulary.form is TextForm.WORDPIECE:
            text = text.removeprefix("##")
        return any(
            token_id in self._encoder.encode(context + text, template=False).ids
            for context in ("", "a", "«", "a ")
        )
