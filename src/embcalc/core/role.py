"""What tensors are to the embedding layer."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a tensor is to the embedding layer."""

    TOKEN = "token"  # noqa: S105 - a role, no password
    OUTPUT = "output"
    POSITION = "position"
    TOKEN_TYPE = "token_type"  # noqa: S105 - a role, no password
    PER_LAYER = "per_layer"
    OUTPUT_BIAS = "output_bias"
    CODEBOOK = "codebook"
    MTP_TOKEN = "mtp_token"  # noqa: S105 - a role, no password
    MTP_OUTPUT = "mtp_output"
    TOKEN_EXTRA = "token_extra"  # noqa: S105 - a role, no password
    OTHER = "other"


TOKEN_ROLES = (Role.TOKEN, Role.OUTPUT, Role.MTP_TOKEN, Role.MTP_OUTPUT, Role.PER_LAYER)
"""Tables whose rows belong to token ids."""
