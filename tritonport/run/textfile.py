"""Source files as text and back, byte for byte, and writing that leaves either the old file or the whole new one."""

import codecs
import io
import os
import stat
import tempfile
import tokenize
from dataclasses import dataclass
from pathlib import Path

from tritonport.report import Diagnostic, InputError


@dataclass(frozen=True)
class SourceText:
    """A decoded file.

    Attributes:
        text: with the line ends of the file.
        encoding: what the file declares (PEP 263), UTF-8 where it declares nothing.
        bom: the bytes begin with a UTF-8 byte order mark, which is not part of the text.
    """

    text: str
    encoding: str = "utf-8"
    bom: bool = False

    def encode(self, text: str) -> bytes:
        """Another text in the encoding of this file."""
        return (codecs.BOM_UTF8 if self.bom else b"") + text.encode(self.encoding)


def decode_source(data: bytes, path: str) -> SourceText:
    """The text of a Python file; raises InputError (TP002) where the bytes are not text in the declared encoding."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        bom = data.startswith(codecs.BOM_UTF8)
        # "utf-8-sig" is what detect_encoding says for a file with a mark.
        encoding = "utf-8" if encoding == "utf-8-sig" else encoding
        return SourceText(data.removeprefix(codecs.BOM_UTF8).decode(encoding), encoding, bom)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        message = f"cannot read the file: byte 0x{data[error.start]:02x} is not {error.encoding} text"
        raise InputError(Diagnostic("TP002", message, path, line, column)) from None
    except (SyntaxError, LookupError) as error:
        raise InputError(Diagnostic("TP002", f"cannot read the file: {error}", path, 1, 1)) from None


def read_bytes(file: Path, path: str) -> bytes:
    """The bytes of a file; raises InputError (TP002), with the path as the user wrote it."""
    try:
        return file.read_bytes()
    except OSError as error:
        message = f"cannot read the file: {error.strerror or error}"
        raise InputError(Diagnostic("TP002", message, path, 1, 1)) from None


def write_atomically(destination: Path, data: bytes, path: str) -> None:
    """Write a file under a temporary name in its own directory, then rename it: never half a file.

    The mode of a file that is replaced is kept, and a symbolic link stays a link to the file that is replaced.
    Raises InputError (TP006).
    """
    target = Path(os.path.realpath(destination))
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except OSError as error:
        message = f"cannot write the file: {error.strerror or error}"
        raise InputError(Diagnostic("TP006", message, path, 1, 1)) from None
    else:
        temporary = None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _mode(target: Path) -> int:
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    # A new file gets what open() would have given it; the umask can only be read by setting it.
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
