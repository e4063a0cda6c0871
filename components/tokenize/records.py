"""Rows of token ids as TFRecords of ``tf.Example``, without TensorFlow.

Importing TensorFlow costs a Beam worker four seconds and half a gigabyte; the
two formats are a page of code. Values that share a column are written with
varints of one width (Protocol Buffers allow leading zeros), so that a whole
column is encoded by a few array operations and every row has the same size.

Sources: TensorFlow ``core/lib/io/record_writer.h`` (length, masked CRC-32C of the
length, data, masked CRC-32C of the data) and ``core/example/example.proto``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence

import google_crc32c
import numpy as np

from models.errors import UserError

Column = np.ndarray | Sequence[np.ndarray] | Sequence[Sequence[bytes]]
_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
BYTES_LIST, FLOAT_LIST, INT64_LIST = 1, 2, 3


def examples(columns: Mapping[str, Column]) -> Iterator[bytes]:
    """Serialises rows as ``tf.Example`` messages.

    Args:
      columns: Feature -> its value in every row: an int array [rows, width], or a
        sequence with an int array, a float array or a sequence of bytes for each
        row. Integers must not be negative.

    Yields:
      One message for each row; the features in the order of ``columns``.
    """
    encoded = [_column(name, values) for name, values in columns.items()]
    for parts in zip(*encoded, strict=True):
        yield _field(1, b"".join(parts))


def frame(messages: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes of each message as a TFRecord."""
    for message in messages:
        length = struct.pack("<Q", len(message))
        yield _HEADER.pack(len(message), _masked_crc(length))
        yield message
        yield _FOOTER.pack(_masked_crc(message))


def messages(content: bytes, name: str) -> Iterator[memoryview]:
    """The messages in the bytes of a TFRecord file.

    Args:
      content: The whole file.
      name: What to call it in an error.

    Raises:
      UserError: A record is cut off or its checksum is wrong.
    """
    view, start = memoryview(content), 0
    while start < len(view):
        end = start + _HEADER.size
        if end <= len(view):
            length, _ = _HEADER.unpack_from(view, start)
            start, end = end, end + length
        if end + _FOOTER.size > len(view):
            raise UserError(f"{name}: ends in the middle of a record; make it again")
        message = view[start:end]
        if _FOOTER.unpack_from(view, end)[0] != _masked_crc(bytes(message)):
            raise UserError(f"{name}: damaged at byte {start}; make it again")
        yield message
        start = end + _FOOTER.size


def parse(message: memoryview) -> dict[str, tuple[int, memoryview]]:
    """The features of one ``tf.Example``.

    Returns:
      Feature -> (kind of list, content): the varints of an int64 list, the
      little-endian floats of a float list, or the fields of a bytes list.
    """
    found = {}
    for features in _fields(message):
        for entry in _fields(features):
            name, feature = _fields(entry)
            kind = feature[0] >> 3
            (values,) = _fields(feature)
            if kind != BYTES_LIST:
                (values,) = _fields(values) or (memoryview(b""),)
            found[bytes(name).decode()] = kind, values
    return found


def byte_strings(content: memoryview) -> list[bytes]:
    """The values of a bytes list."""
    return [bytes(value) for value in _fields(content)]


def varints(content: np.ndarray) -> np.ndarray:
    """Decodes consecutive varints, uint8 [bytes] -> int32 [values]."""
    ends = np.flatnonzero(content < 0x80)
    starts = np.concatenate([[0], ends[:-1] + 1])[: len(ends)]
    place = np.arange(len(content)) - np.repeat(starts, ends - starts + 1)
    parts = (content & 0x7F).astype(np.int64) << 7 * place
    if not len(parts):
        return np.zeros(0, np.int32)
    return np.add.reduceat(parts, starts).astype(np.int32)


def _column(name: str, values: Column) -> Iterable[bytes]:
    """The map entry of one feature in every row."""
    if isinstance(values, np.ndarray):
        payloads = _varint_matrix(values)
        size = payloads.shape[1]
        head = _entry_head(name, INT64_LIST, size)
        data = payloads.tobytes()
        return [head + data[i : i + size] for i in range(0, len(data), size)]
    return [_entry(name, row) for row in values]


def _varint_matrix(values: np.ndarray) -> np.ndarray:
    """Varints of one width, int [rows, n] -> uint8 [rows, n * width]."""
    largest = int(values.max(initial=0))
    width = max(1, -(-largest.bit_length() // 7))
    shifts = 7 * np.arange(width)
    parts = (values[..., None] >> shifts & 0x7F).astype(np.uint8)
    parts[..., :-1] |= 0x80
    return parts.reshape(len(values), values.shape[1] * width)


def _entry(name: str, row: np.ndarray | Sequence[bytes]) -> bytes:
    if not isinstance(row, np.ndarray):
        values = b"".join(_field(1, value) for value in row)
        feature = _field(BYTES_LIST, values)
        return _field(1, _field(1, name.encode()) + _field(2, feature))
    if row.dtype.kind == "f":
        payload = row.astype("<f4").tobytes()
        return _entry_head(name, FLOAT_LIST, len(payload)) + payload
    payload = b"".join(_varint(value) for value in row.tolist())
    return _entry_head(name, INT64_LIST, len(payload)) + payload


def _entry_head(name: str, kind: int, size: int) -> bytes:
    """All of a map entry but the packed values at its end, ``size`` bytes."""
    head = b""
    for prefix in (b"\x0a", bytes([kind << 3 | 2]), b"\x12"):
        head = prefix + _varint(size + len(head)) + head
    key = _field(1, name.encode())
    return b"\x0a" + _varint(len(key) + len(head) + size) + key + head


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _fields(message: memoryview) -> list[memoryview]:
    """The contents of the length-delimited fields of a message, in order."""
    found, at = [], 0
    while at < len(message):
        at += 1  # the field's number and type
        size = shift = 0
        while message[at] >= 0x80:
            size |= (message[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
        size |= message[at] << shift
        at += 1
        found.append(message[at : at + size])
        at += size
    return found


def _masked_crc(content: bytes) -> int:
    crc = google_crc32c.value(content)
    return (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF
