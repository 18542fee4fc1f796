"""Numbers with a suffix, as vLLM reads them."""

from __future__ import annotations

import re
from typing import Final

_MULTIPLES: Final = {
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "K": 2**10,
    "M": 2**20,
    "G": 2**30,
    "T": 2**40,
}


def parse_size(word: str) -> int:
    """A number of vLLM's: `1k` is 1000, `1K` is 1024, `25.6k` is 25600 (its `human_readable_int`).

    Raises:
        ValueError: It is none.
    """
    word = word.strip()
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgGtT])", word)
    if not found:
        return int(word)
    number, suffix = found.groups()
    if suffix.isupper():
        return int(number) * _MULTIPLES[suffix]
    return int(float(number) * _MULTIPLES[suffix])
