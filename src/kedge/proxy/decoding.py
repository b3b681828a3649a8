"""Decode a copy of an answer that is only observed."""

from __future__ import annotations

import zlib

LARGEST = 32 << 20  # bytes that are decoded at once


class Decoder:
    """Decodes a copy of an answer, as far as that is possible."""

    def __init__(self, encoding: str) -> None:
        self.fault = ""
        self._inflate = None
        if encoding in ("gzip", "deflate", "x-gzip"):
            self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
        elif encoding != "identity":
            self.fault = f"an answer in {encoding}, although identity was asked for"

    def decode(self, data: bytes) -> bytes:
        if self.fault or self._inflate is None:
            return b"" if self.fault else data
        try:
            return self._inflate.decompress(data, LARGEST)
        except zlib.error as error:
            self.fault = f"an answer that is not valid: {error}"
            return b""
