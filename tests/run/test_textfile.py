"""Reading and writing files byte for byte."""

import os
import stat
from pathlib import Path

import pytest

from tritonport.report import InputError
from tritonport.run.textfile import decode_source, write_atomically


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x = 1",
        b"x = 1\r\ny = 2\r\n",
        b"\xef\xbb\xbfx = 1\n",
        "# coding: latin-1\n# gr\xf6\xdfer\n".encode("latin-1"),
        "x = '\u20ac'\x0c\n".encode(),
    ],
)
def test_decoding_and_encoding_give_the_same_bytes(data: bytes) -> None:
    source = decode_source(data, "a.py")
    assert source.encode(source.text) == data


def test_what_is_not_text_has_a_place() -> None:
    with pytest.raises(InputError) as caught:
        decode_source(b"a = 1\nb = '\xff'\n", "a.py")
    found = caught.value.diagnostic
    assert (found.code, found.line, found.column) == ("TP002", 2, 6)


def test_a_new_file_has_the_mode_that_open_gives(tmp_path: Path) -> None:
    write_atomically(tmp_path / "new", b"x", "new")
    (tmp_path / "opened").write_bytes(b"x")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == stat.S_IMODE((tmp_path / "opened").stat().st_mode)


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "directory"
    target.mkdir()
    (target / "inside").write_text("kept")
    with pytest.raises(InputError, match="TP006 cannot write the file"):
        write_atomically(target, b"x", "directory")
    assert os.listdir(tmp_path) == ["directory"]
    assert (target / "inside").read_text() == "kept"
