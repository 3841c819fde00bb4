"""Selection of rows that several products share: clause, area, time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.products.area import area

if TYPE_CHECKING:
    from icecore.tables.query.table import Table


@dataclass(frozen=True)
class Where:
    """What rows to select; :meth:`options` gives the options of a scan of a table."""

    clause: str | None = None
    poly: Any = None
    box: list[float] | None = None
    t0: str | None = None
    t1: str | None = None
    time: str | None = None
    xy: list[str] | None = None

    def options(self, table: Table) -> dict[str, Any]:
        """Return ``where``, ``within`` and ``xy`` for a scan.

        Raises:
            Error: ``not-found`` if the table has no column of times or coordinates.
        """
        clauses = [f"({self.clause})"] if self.clause is not None else []
        if self.t0 is not None or self.t1 is not None:
            column = _quoted(self.time or time_column(table))
            clauses += [f"{column} >= {_time(self.t0)}"] if self.t0 is not None else []
            clauses += [f"{column} < {_time(self.t1)}"] if self.t1 is not None else []
        options: dict[str, Any] = {"where": " and ".join(clauses) or None}
        inside = area(self.poly, self.box)
        if inside is not None:
            options["within"] = inside
        if self.xy is not None:
            if len(self.xy) != 2:
                raise errors.make("invalid", f"xy must name two columns (got {self.xy})", "xy=lon,lat")
            options["xy"] = (self.xy[0], self.xy[1])
        return options


def time_column(table: Table) -> str:
    """Return the column of times: with a time dtype, or with units such as ``seconds since 2018-01-01``.

    Raises:
        Error: ``not-found``.
    """
    for name, array in table.columns.items():
        if array.dtype.kind == "M" or " since " in str(array.attrs.get("units", "")):
            return name
    message = f"{table.path} has no column of times (a time dtype, or units such as seconds since 2018-01-01)"
    raise errors.make("not-found", message, 'use a clause instead: where="delta_time > 1e8"')


def _time(text: str | None) -> str:
    return "'" + str(text).replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
