"""An audit in a table: the same JSON lines as rows of a DuckDB file of its own, to be asked in SQL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

from dbt_attest.errors import InputError
from dbt_attest.resolution.audit_file import OWNER_ALONE, as_text, cannot_be_written, mode_of

# the line is what is kept, the other columns are what it says
_TABLE = """
create table audit (
  line json not null,
  bytes integer not null,
  "time" timestamptz generated always as (cast(json_extract_string(line, '$.time') as timestamptz)),
  subject varchar generated always as (json_extract_string(line, '$.requester.subject')),
  tenant varchar generated always as (json_extract_string(line, '$.requester.tenant')),
  groups varchar[] generated always as (cast(json_extract(line, '$.requester.groups') as varchar[])),
  verb varchar generated always as (json_extract_string(line, '$.question.verb')),
  asked varchar[] generated always as (cast(json_extract(line, '$.question.asked') as varchar[])),
  environment varchar generated always as (json_extract_string(line, '$.environment')),
  outcome varchar generated always as (json_extract_string(line, '$.outcome')),
  reason varchar generated always as (json_extract_string(line, '$.reason')),
  rule varchar generated always as (json_extract_string(line, '$.rule'))
)
"""
_FORGET = """
delete from audit where rowid < (select max(rowid) from audit) and rowid <= (
  select max(place) from (select rowid as place, sum(bytes) over (order by rowid desc) as bytes from audit)
  where bytes > $enough
)
"""
# of the threads of one process; processes wait for the file
_one_writes = Lock()


@dataclass(frozen=True)
class AuditTable:
    """The table `audit` in a DuckDB file that holds nothing else, one row a question, in the order of writing.

    Where its lines have more than `max_bytes`, the oldest tenth of them goes.
    """

    path: Path
    max_bytes: int = 100_000_000

    def write(self, line: dict[str, Any]) -> None:
        """Append a row. Raises InputError where it cannot be kept, WarehouseError where the file is busy too long."""
        import duckdb

        from dbt_attest.warehouse.files import connect

        text = as_text(line)
        row = {"line": text, "bytes": len(text.encode())}
        try:
            with _one_writes:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                if not self.path.exists():
                    self._make()
                # says better than DuckDB what is wrong
                os.close(os.open(self.path, os.O_RDWR))
                with closing(connect(self.path, read_only=False)) as connection:
                    ((held,),) = connection.execute("select coalesce(sum(bytes), 0) from audit").fetchall()
                    self._guard_log()
                    connection.begin()
                    connection.execute("insert into audit (line, bytes) values ($line, $bytes)", row)
                    if held + row["bytes"] > self.max_bytes:
                        connection.execute(_FORGET, {"enough": self.max_bytes * 9 // 10})
                    connection.commit()
        except OSError as error:
            raise cannot_be_written(self.path, error.strerror) from None
        except (duckdb.CatalogException, duckdb.BinderException):
            raise cannot_be_written(self.path, "it holds something else") from None
        except duckdb.Error as error:
            raise cannot_be_written(self.path, str(error).splitlines()[0]) from None

    def _make(self) -> None:
        from dbt_attest.warehouse.files import connect

        with TemporaryDirectory(prefix=f".{self.path.name}-", dir=self.path.parent) as folder:
            new = Path(folder) / self.path.name
            with closing(connect(new, read_only=False)) as connection:
                connection.execute(_TABLE)
            new.chmod(OWNER_ALONE)
            # another process may have made it meanwhile, and lines are in that
            with suppress(FileExistsError):
                os.link(new, self.path)

    def _guard_log(self) -> None:
        # what DuckDB writes first lies beside the file, and would be for everybody
        handle = os.open(self.path.with_name(f"{self.path.name}.wal"), os.O_WRONLY | os.O_CREAT, OWNER_ALONE)
        try:
            os.fchmod(handle, mode_of(self.path))
        finally:
            os.close(handle)


def is_duckdb(path: Path) -> bool:
    """Whether a file is one of DuckDB; raises OSError."""
    with path.open("rb") as opened:
        return opened.read(12)[8:] == b"DUCK"


def lines_of_table(path: Path) -> Iterator[bytes]:
    """The lines of an audit in a table, in the order of writing.

    Raises InputError where the file has no such table, WarehouseError where it cannot be opened.
    """
    import duckdb

    from dbt_attest.warehouse.files import connect

    with closing(connect(path, read_only=True)) as connection:
        try:
            rows = connection.execute("select line from main.audit order by rowid")
        except (duckdb.CatalogException, duckdb.BinderException):
            raise InputError(
                f"{path}: expected the table audit that attest.yml names, found a DuckDB file without it; name another."
            ) from None
        while some := rows.fetchmany(1000):
            for (line,) in some:
                yield line.encode()
