"""What a small file may become when it is unpacked: never more than is allowed, whoever packed
it.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zlib
from pathlib import Path

import pytest
from published_files import Published, path_of

from independence_bench.dataset.import_own import BATCH, read_table_file, split_batches
from independence_bench.dataset.import_published import import_published
from independence_bench.store.blobs import HELD, LARGEST_TEXT, Allowance, TooLarge, inflate_blob
from independence_bench.store.database import open_store


@pytest.fixture
def data() -> Published:
    """One run of one subject."""
    made = Published()
    made.run(ONE, 1)
    return made


ONE = "acme--one@none-t0.7"
MEGABYTE = 1_000_000


def test_a_packed_text_is_inflated_no_further_than_it_may_be() -> None:
    """At the bound it is there, one byte behind it nothing is; what breaks off is damaged, not
    short.
    """
    assert inflate_blob(zlib.compress(b"a" * 1000), 1000) == b"a" * 1000
    assert inflate_blob(zlib.compress(b"")) == b""
    with pytest.raises(TooLarge, match="larger than 1,000 bytes"):
        inflate_blob(zlib.compress(b"a" * 1001), 1000)
    with pytest.raises(TooLarge):
        inflate_blob(zlib.compress(b"\0" * (LARGEST_TEXT + 1), 9))
    with pytest.raises(zlib.error, match="truncated"):
        inflate_blob(zlib.compress(b"a" * 1000)[:-1])


def test_many_small_things_are_too_much_together() -> None:
    """The allowance is taken before the bytes are."""
    allowance = Allowance(10)
    allowance.take_bytes(6)
    allowance.take_bytes(4)
    with pytest.raises(TooLarge, match="larger than 10 bytes"):
        allowance.take_bytes(1)
    assert allowance.taken == 10


def test_rows_are_held_together_by_number_and_by_size() -> None:
    """500 small ones, or as many as come to 64 MB; every row comes once and in order."""
    small = list(split_batches((1, number) for number in range(1200)))
    assert [len(batch) for batch in small] == [BATCH, BATCH, 200]
    assert [number for batch in small for number in batch] == list(range(1200))
    assert [len(batch) for batch in split_batches((HELD // 2, number) for number in range(7))] == [
        3,
        3,
        1,
    ]
    assert list(split_batches([])) == []


def _sparse(name: str, size: int) -> bytes:
    """A GNU sparse member that says it has *size* bytes, and has none."""
    about = tarfile.TarInfo(name)
    about.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(about.tobuf(tarfile.GNU_FORMAT))
    header[386:398], header[398:410] = b"%011o\0" % size, b"%011o\0" % 0
    header[483:495] = b"%011o\0" % size
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


def test_sparse_members_of_a_tar_are_not_written(tmp_path: Path, data: Published) -> None:
    """Each stands for a file of nearly 4 MB in half a kilobyte; none is read, all are listed, the
    rest comes in.
    """
    whole = data.tar(tmp_path / "plain.tar", "w:").read_bytes().rstrip(b"\0")
    whole += b"\0" * (-len(whole) % 512)
    claims = b"".join(
        _sparse(path_of(ONE, 1, f"made{number}"), 3_999_000) for number in range(2000)
    )
    packed = tmp_path / "bomb.tar.gz"
    packed.write_bytes(zlib.compress(whole + claims + b"\0" * 1024, wbits=31))
    with tarfile.open(packed) as tar:
        assert sum(member.size for member in tar) > 7_900 * MEGABYTE

    with open_store(tmp_path / "a.db") as store:
        outcome = import_published(store, packed)

    refused = [reason for name, reason in outcome.skipped if "made" in name]
    assert refused == ["a link, a device or a sparse file, not read"] * 2000
    assert outcome.new == 15


READING = """
import sys
from pathlib import Path
from independence_bench.dataset.import_own import split_batches, read_table_file

found = 0
for batch in split_batches((one.size, one) for one in read_table_file(Path(sys.argv[1]))):
    found += len(batch)
    last = batch[-1].value
# not ru_maxrss, which begins with what the process held that started this one
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() \
if line.startswith("VmHWM:"))
print(found, int(peak.split()[1]) * 1024, str(last)[:64], sep="|")
"""


def test_texts_of_a_parquet_dictionary_are_not_all_unpacked_at_once(tmp_path: Path) -> None:
    """One text of 12 MB, named by 500 rows in 1 kB, is 6 GB: read up to 2 GB in all, some 64 MB at
    a time.
    """
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    column = arrow.DictionaryArray.from_arrays(
        arrow.array([0] * 500, arrow.int32()), ["a" * 12 * MEGABYTE]
    )
    file = tmp_path / "replies.parquet"
    parquet.write_table(
        arrow.table({"text": column}), file, compression="zstd", compression_level=19
    )
    assert file.stat().st_size < 10_000

    run = subprocess.run(
        [sys.executable, "-c", READING, str(file)], capture_output=True, text=True, check=True
    )

    rows, peak, last = run.stdout.strip().split("|")
    assert int(rows) == 167  # 166 of them, and why no more
    assert last == "cannot be read to its end: unpacked it would be larger than 2,00"
    assert int(peak) < 1000 * MEGABYTE


def test_a_row_that_is_too_long_is_refused_and_the_next_is_read(tmp_path: Path) -> None:
    """In both formats; a list of texts is as long as all of them."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    long = ["a" * (LARGEST_TEXT // 10)] * 11
    file = tmp_path / "replies.parquet"
    parquet.write_table(arrow.table({"texts": [long, ["b"]]}), file)
    first, second = read_table_file(file)
    assert str(first.value) == "is longer than 64,000,000 bytes"
    assert (second.where, second.value) == ("replies.parquet, row 2", {"texts": ["b"]})

    lines = tmp_path / "replies.jsonl"
    lines.write_bytes(b'{"text": "' + b"a" * LARGEST_TEXT + b'"}\n{"text": "b"}\n')
    first, second = read_table_file(lines)
    assert str(first.value) == "is longer than 64,000,000 bytes"
    assert (second.where, second.value) == ("replies.jsonl, line 2", {"text": "b"})
