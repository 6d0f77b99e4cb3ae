"""Names of operations that are the same in every process, for graphs that are kept in files."""

from __future__ import annotations

import functools
import hashlib
import pickle
from typing import Any

from jounce.interop._bridge.functions import Operation

__all__ = ["digest"]


@functools.lru_cache(maxsize=64)
def _model_bytes(model: Any) -> bytes:
    return pickle.dumps(model, protocol=4)


def digest(own: Operation) -> bytes:
    """Sixteen bytes that tell operations apart by kernel, inputs, options and model."""
    told = repr((own.function, own.kernel, [x.name for x in own.inputs], own.options)).encode()
    return hashlib.blake2b(_model_bytes(own.model) + told, digest_size=16).digest()
