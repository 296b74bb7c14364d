from __future__ import annotations

import pytest

from embcalc.core.dtypes import BY_NAME
from embcalc.core.tables import EmbeddingTable, Role, TensorInfo
from embcalc.core.tying import Equality, expects_head, verdict


def table(
    role: Role, name: str, shape: tuple[int, int] = (32_000, 64), storage: str | None = None
) -> EmbeddingTable:
    info = TensorInfo(
        name=name,
        shape=shape,
        dtype=BY_NAME["BF16"],
        file="m",
        nbytes=2 * shape[0] * shape[1],
        storage=storage,
    )
    return EmbeddingTable(role=role, tensor=info)


TOKEN = table(Role.TOKEN, "wte")
HEAD = table(Role.OUTPUT, "lm_head")


@pytest.mark.parametrize(
    ("config", "tables", "equal", "word", "reason"),
    [
        (True, [TOKEN], None, "tied", "config says tied, and wte is stored without a head"),
        (False, [TOKEN], None, "head-missing", "config says untied, but no output head is stored"),
        (None, [TOKEN], None, "unknown",
         "no output head is stored, and no config says whether it is tied"),
        (True, [TOKEN, HEAD], True, "tied-stored-twice",
         "wte and lm_head are bit-equal: 4.1 MB are redundant"),
        (False, [TOKEN, HEAD], True, "tied-stored-twice",
         "wte and lm_head are bit-equal, though config says untied: 4.1 MB are redundant"),
        (None, [TOKEN, HEAD], lambda: True, "tied-stored-twice",
         "wte and lm_head are bit-equal: 4.1 MB are redundant"),
        (True, [TOKEN, HEAD], False, "conflict",
         "config says tied, but wte and lm_head hold different values: loading keeps one of them"),
        (False, [TOKEN, HEAD], False, "untied", "wte and lm_head hold different values"),
        (None, [TOKEN, HEAD], lambda: False, "untied", "wte and lm_head hold different values"),
        (False, [TOKEN, HEAD], None, "untied",
         "config says untied, and wte and lm_head are stored (values not compared)"),
        (True, [TOKEN, HEAD], lambda: None, "unknown",
         "wte and lm_head are stored, and their values were not compared"),
        (None, [TOKEN, HEAD], None, "unknown",
         "wte and lm_head are stored, and their values were not compared"),
        (True, [TOKEN, table(Role.OUTPUT, "lm_head", (31_999, 64))], True, "conflict",
         "config says tied, but wte and lm_head have shapes [32000, 64] and [31999, 64]:"
         " loading keeps one of them"),
        (False, [TOKEN, table(Role.OUTPUT, "lm_head", (32_064, 64))], None, "untied",
         "wte and lm_head have shapes [32000, 64] and [32064, 64]"),
        (True, [HEAD], None, "tied", "only lm_head is stored: it is the input table too"),
        (None, [HEAD], None, "tied", "only lm_head is stored: it is the input table too"),
        (False, [HEAD], None, "conflict",
         "config says untied, but only lm_head is stored: no input table"),
        (True, [], None, "unknown", "no token table and no output head were found"),
    ],
)  # fmt: skip
def test_verdicts(
    config: bool | None, tables: list[EmbeddingTable], equal: Equality, word: str, reason: str
) -> None:
    tying = verdict(config, tables, equal)
    assert (tying.verdict, tying.reason) == (word, reason)


def test_shared_storage_is_tied_whatever_the_config_says() -> None:
    shared = [
        table(Role.TOKEN, "wte", storage="m:0"),
        table(Role.OUTPUT, "lm_head", storage="m:0"),
    ]
    assert verdict(False, shared).verdict == "tied"


def test_an_encoder_has_no_head() -> None:
    tying = verdict(True, [TOKEN], has_head=False)
    assert (tying.verdict, tying.reason) == (
        "no-head",
        "wte is stored, and this model has no output head",
    )


def test_values_are_compared_only_when_that_decides() -> None:
    def never() -> bool:
        raise AssertionError("compared")

    assert verdict(True, [TOKEN], never).verdict == "tied"
    assert verdict(False, [TOKEN, table(Role.OUTPUT, "h", (8, 8))], never).verdict == "untied"


@pytest.mark.parametrize(
    ("architectures", "tables", "tensors", "expected"),
    [
        (["LlamaForCausalLM"], 1, 291, True),
        (["T5ForConditionalGeneration"], 1, 1, True),
        (["BertModel"], 3, 104, False),
        (["GPT2LMHeadModel"], 2, 100, True),
        (["MarianMTModel"], 1, 258, True),
        (["VisionEncoderDecoderModel"], 2, 400, True),
        (["SeamlessM4Tv2Model"], 2, 400, True),
        (["ReformerModelWithLMHead"], 1, 100, True),
        (["ElectraForPreTraining"], 3, 200, False),
        (["CLIPTextModelWithProjection"], 2, 196, False),
        (["RobertaForMultipleChoice"], 3, 200, False),
        (["Unheard"], 2, 100, None),
        ([], 1, 1, False),
        ([], 0, 0, None),
    ],
)
def test_expects_head(
    architectures: list[str], tables: int, tensors: int, expected: bool | None
) -> None:
    assert expects_head(architectures, tables, tensors) is expected


UNREAD = "config.json is empty"


@pytest.mark.parametrize(
    ("tables", "equal", "word", "reason"),
    [
        ([TOKEN], None, "unknown", "only wte is stored; config.json is empty"),
        ([HEAD], None, "unknown", "only lm_head is stored; config.json is empty"),
        ([], None, "unknown", "no token table and no head were found; config.json is empty"),
        ([TOKEN, HEAD], False, "unknown", "wte and lm_head differ; config.json is empty"),
        ([TOKEN, HEAD], True, "tied-stored-twice",
         "wte and lm_head are bit-equal: 4.1 MB are redundant"),
        ([table(Role.TOKEN, "a", storage="1"), table(Role.OUTPUT, "b", storage="1")], None, "tied",
         "a and b share one storage"),
    ],
)  # fmt: skip
def test_a_config_that_cannot_be_read_leaves_only_what_is_beyond_doubt(
    tables: list[EmbeddingTable], equal: bool | None, word: str, reason: str
) -> None:
    tying = verdict(None, tables, equal, unread=UNREAD)
    assert (tying.verdict, tying.reason) == (word, reason)
