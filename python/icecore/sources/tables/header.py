"""Decide whether the first lines of a table without a label are names and units, or rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from icecore.sources.tables.encoding import decoded

Cells = Sequence[bytes]

#: a number, also with a decimal comma or thousands separators
_NUMBER = re.compile(rb"[-+]?(\d+([ '.,]\d{3})*([.,]\d*)?|[.,]\d+)([eEdD][-+]?\d+)?")
_TIME = re.compile(rb"\d+[-/:.]\d+([-/:.,TZ +][-/:.,TZ +\d]*)?")
_DIGITS, _LETTERS = re.compile(rb"\d+"), re.compile(rb"[^\W\d]+")
_YEAR = re.compile(rb"[12]\d{3}")
#: markers of missing numbers
_MARKERS = (b"nan", b"-nan", b"inf", b"-inf", b"na", b"n/a", b"null", b"none", b"-", b"--", b"*")


def is_header(cells: Cells, rows: Sequence[Cells]) -> bool:
    """Whether a line with as many cells as the rows below it is a header.

    A line of words is a header, unless some but not all words are values of their columns: then it is a row.
    A line with blank cells or numbers is a header if words are above columns of numbers or times, or if it
    has a form that programs write: a blank name above row numbers, or years as names.
    """
    bare = [_bare(cell) for cell in cells]
    columns = [[_bare(cell) for cell in column] for column in zip(*rows, strict=True)]
    if all(_kind(cell) == "word" for cell in bare):
        return not _is_value(bare, columns)
    below = [_usual(column) for column in columns] if rows else [""] * len(bare)
    line = [_above(cell, kind) for cell, kind in zip(bare, below, strict=True)]
    pairs = list(zip(line, below, strict=True))
    if ("time", "time") in pairs:
        return False
    if "" not in line and "number" not in line:
        return True
    if not rows:  # only the first name may be blank: pandas and R write the index so
        return len(line) > 1 and not bare[0] and all(kind == "word" for kind in line[1:])
    if _is_counted(bare[0], columns[0]):
        return True
    words = [cell for cell, kind in zip(bare, line, strict=True) if kind == "word"]
    blanks = sum(not kind and bool(under) for kind, under in pairs)
    numbers = [i for i, kind in enumerate(line) if kind == "number"]
    # Some names may occur twice; a word that marks many values does not count.
    if 0 < len(set(words)) * 2 <= len(words) or blanks > len(words) + len(numbers):
        return False
    other = ("word", "number") in pairs or ("word", "time") in pairs
    if numbers:
        above = [columns[i] for i in numbers]
        if _are_years([bare[i] for i in numbers], above) and (
            other or _heads_words(bare, line, below, columns)
        ):
            return True
        return _are_names([bare[i] for i in numbers], above, other)
    return other or _heads_words(bare, line, below, columns)


def stands_out(cells: Cells, rows: Sequence[Cells]) -> bool:
    """Whether a header is beyond doubt: words, some of them above numbers or times, or blank cells."""
    kinds = [_kind(_bare(cell)) for cell in cells]
    if "number" in kinds:
        return False
    columns = ([_bare(cell) for cell in column] for column in zip(*rows, strict=True))
    return not rows or any(_usual(column) in ("number", "time") for column in columns)


def is_below_names(cells: Cells, rows: Sequence[Cells]) -> bool:
    """Whether a line below the names contains units or types, beyond doubt.

    It has no value in columns of numbers or times, but mostly known units or types; its other cells are not
    like the texts of their columns. Among several units, 1 is a unit too.
    """
    if len(rows) < 2:
        return False
    columns = [[_bare(cell) for cell in column] for column in zip(*rows, strict=True)]
    usual = [_usual(column) for column in columns]
    bare = [_bare(cell) for cell in cells]
    above = [(cell, i) for i, cell in enumerate(bare) if cell and usual[i] in ("number", "time")]
    words = [cell for cell, i in above if _kind(cell) == "word" and cell not in columns[i]]
    types = all(is_type(cell) for cell in bare if cell)
    known = sum(is_unit(cell) or is_type(cell) for cell in words)
    others = [cell for cell, _ in above if _kind(cell) and cell not in words]
    if not words or not all(cell == b"1" and len(words) > 1 for cell in others):
        return False
    texts = [(cell, columns[i]) for i, cell in enumerate(bare) if cell and usual[i] == "word"]
    sure = any((is_unit(cell) or is_type(cell)) and cell.decode("latin-1") not in WEAK for cell in words)
    return types or (
        sure and known * 2 > len(words) and not any(_is_like(cell, column) for cell, column in texts)
    )


def _is_like(cell: bytes, column: Cells) -> bool:
    """Whether a text is like those below it: one of them, or of the form that most have, as s0 above s1."""
    forms = Counter(_form(other) for other in column if other)
    form, count = forms.most_common(1)[0] if forms else (b"", 0)
    numbered = b"0" in form and count * 2 > len(column)
    return cell in column or (numbered and _form(cell) == form)


def _form(cell: bytes) -> bytes:
    """Return a text with its numbers replaced by 0 and its words by a."""
    return _LETTERS.sub(b"a", _DIGITS.sub(b"0", cell))


def is_row(cells: Cells, rows: Sequence[Cells]) -> bool:
    """Whether a line that begins like a comment is a row, such as a colour (``#ff0000``) above words.

    Its columns of numbers and times must contain numbers and times.
    """
    columns = [[_bare(cell) for cell in column] for column in zip(*rows, strict=True)]
    if len(columns) != len(cells) or not columns or _usual(columns[0]) != "word":
        return False
    measured = [
        (_kind(_bare(cell)), usual)
        for cell, column in zip(cells, columns, strict=True)
        if (usual := _usual(column)) in ("number", "time")
    ]
    alike = sum(kind == usual for kind, usual in measured)
    return bool(cells[0][1:2].strip()) and 0 < alike == sum(kind != "" for kind, _ in measured)


def has_values(cells: Cells) -> bool:
    """Whether most cells of a line are numbers or times; it may be a row with too few or too many cells."""
    kinds = [_kind(_bare(cell)) for cell in cells]
    return len(cells) > 1 and sum(kind in ("number", "time") for kind in kinds) * 2 > len(cells)


def is_measured(column: Cells) -> bool:
    """Whether a column is numeric, and may have a unit."""
    return _usual([_bare(cell) for cell in column]) == "number"


def is_of_words(column: Cells) -> bool:
    """Whether most cells of a column are words."""
    return _usual([_bare(cell) for cell in column]) == "word"


def names_rows(column: Cells) -> bool:
    """Whether a column names or numbers the rows: cells are unique, and all are words, or 1, 2, 3, …"""
    bare = [_bare(cell) for cell in column]
    words = all(_kind(cell) == "word" for cell in bare)
    return _is_counted(b"", bare) or (words and len(set(bare)) == len(bare))


def _is_value(bare: Cells, columns: Sequence[Cells]) -> bool:
    """Whether words above words are a row: some of them, but not all, are values of their column."""
    known = [cell in column for cell, column in zip(bare, columns, strict=True)] if columns else []
    some = any(known) and not all(known)
    return some and not any(_usual(column) in ("number", "time") for column in columns)


def _bare(cell: bytes) -> bytes:
    return cell.strip(b' \t"')


def _kind(cell: bytes) -> str:
    if not cell or cell.lower() in _MARKERS:
        return ""
    return "number" if _NUMBER.fullmatch(cell) else "time" if _TIME.fullmatch(cell) else "word"


def _usual(column: Cells) -> str:
    """Return the most frequent kind of the cells that are not blank; empty if all are blank."""
    kinds = Counter(kind for cell in column if (kind := _kind(cell)))
    return kinds.most_common(1)[0][0] if kinds else ""


def _above(cell: bytes, below: str) -> str:
    """Return the kind of a cell of the first line: a marker is a word unless it may mark a missing number."""
    return _kind(cell) or ("word" if cell and below != "number" else "")


def _is_counted(name: bytes, column: Cells) -> bool:
    """Whether a column without a name contains row numbers from 0 or 1, as pandas writes it."""
    first = column[0]
    if name or first not in (b"0", b"1"):
        return False
    return all(cell == b"%d" % (int(first) + i) for i, cell in enumerate(column))


def _are_years(numbers: Cells, columns: Sequence[Cells]) -> bool:
    """Whether numbers are years, each above a column without other numbers."""
    alone = all(_kind(cell) == "word" for column in columns for cell in column if _kind(cell))
    return alone and all(_YEAR.fullmatch(cell) for cell in numbers)


def _are_names(numbers: Cells, columns: Sequence[Cells], other: bool) -> bool:
    """Whether numbers are names: years above columns that are not years, or numbers in equal steps.

    The latter only if ``other`` columns have a name above numbers.
    """
    if len(numbers) < 2 or not all(cell.isdigit() for cell in numbers):
        return False
    values = [int(cell) for cell in numbers]
    steps = {b - a for a, b in pairwise(values)}
    rising = all(step > 0 for step in steps) or all(step < 0 for step in steps)
    if rising and all(_YEAR.fullmatch(cell) for cell in numbers):
        years = sum(bool(_YEAR.fullmatch(cell)) for column in columns for cell in column)
        return years * 2 < sum(map(len, columns))
    in_steps = rising and len(steps) == 1 and (len(values) > 2 or 1 in steps)
    return other and in_steps and not _step_too(steps, columns)


def _step_too(steps: set[int], columns: Sequence[Cells]) -> bool:
    """Whether most rows increase in the same steps."""
    rows = [row for row in zip(*columns, strict=True) if all(cell.isdigit() for cell in row)]
    alike = sum({int(b) - int(a) for a, b in pairwise(row)} == steps for row in rows)
    return alike * 2 > len(columns[0])


def _heads_words(bare: Cells, line: Sequence[str], below: Sequence[str], columns: Sequence[Cells]) -> bool:
    """Whether a line is the header of a table of words.

    The first name and the names of empty columns may be blank; no name may be a value of its column.
    """
    if any(kind in ("number", "time") for kind in below):
        return False
    for i, (cell, kind, column) in enumerate(zip(bare, line, columns, strict=True)):
        if (cell in column) if kind or i == 0 else below[i]:
            return False
    return True


# Recognise units and data types in a line below the names of a table.


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: symbols that take SI prefixes
_SYMBOLS = _set(
    """
    m g s A K mol cd Hz N Pa J W C V F Ohm ohm Ω S Wb T H lm lx Bq Gy Sv eV Jy bar pc L l b B Wh yr a M
    sr rad G P cal gal t ppm ppb ppt Ci R rem mag
    """
)
_PREFIXES = ("da", *"yzafpnuµμmcdhkMGTPEZY")
#: other symbols and words, in lower case
_WORDS = _set(
    """
    deg degree degrees degc degf degk degn dege degs °c °f ° º °n °e celsius fahrenheit kelvin
    centigrade meter metre meters metres feet foot ft inch inches in mile miles mi yd yard yards nmi nm
    knot knots kn kt kts mph kph percent pct % ‰ permil per permille mille ppm ppb ppt ppmv ppbv pptv
    psu pss su count counts cts adu dn electron electrons e- photon photons ph dex unitless
    dimensionless fraction ratio year years yrs month months mon week weeks day days d
    dy hour hours hr hrs h minute minutes min mins second seconds sec secs millisecond milliseconds
    microsecond microseconds utc gmt tai ut ut1 tt tdb gps lst jd mjd julian doy iso iso8601 iso-8601
    rfc3339 timestamp date time datetime jansky erg ergs dyn gauss tesla volt volts amp amps ampere
    amperes watt watts joule joules newton newtons pascal pascals psi psia psig atm torr mmhg inhg bars
    millibar millibars liter litre liters litres gallon gallons oz lb lbs pound pounds ton tons tonne
    tonnes gram grams kilogram kilograms usd eur gbp jpy chf $ € £ ¥ pixel pixels pix px sample samples
    bit bits byte bytes rpm bpm cpm cps dbm db dba dbz dbi decibel decibels lux lumen candela mole moles
    ntu fnu fau rfu eq meq becquerel sievert angstrom angstroms ångström å micron microns au ua ly
    parsec msl kwh mwh gwh btu hp degrees_north degrees_east degree_north degree_east arcmin arcsec mas
    uas ha hectare hectares acre acres cfs cfm gpm iu cfu nmi pdop dobson du hartree bohr amu da kda arb
    a.u. arbitrary # 1 avg smp tot max std wvc ts rn
    """
)
_TYPES = _set(
    """
    int integer int8 int16 int32 int64 uint8 uint16 uint32 uint64 long short byte smallint bigint float
    float32 float64 double real number numeric decimal string str text char varchar character bool
    boolean date datetime datetime64 timestamp time object category factor unsignedlong datetime:rfc3339
    datetime:rfc3339nano
    """
)
_STRINGS = _set("string str text char varchar character object category factor")
#: symbols that also mark missing or trace values: they are units only beside others
WEAK = _set("A B F G H J L M N P T a b t")
#: an exponent: m2, s-1, m^2, m**2, m²
_EXPONENT = re.compile(r"(?:\^|\*\*)?[-+]?(?:[1-9](?:\.\d)?|[⁻⁺]?[⁰¹²³⁴-⁹])")
_BETWEEN = re.compile(r"[\s/.*·⋅\u00d7()\[\]{}^_]")
#: the form of a date or a time of day: YYYY-MM-DD hh:mm:ss
_CLOCK, _FIELDS = re.compile(r"[ymdhsftz%:/. _-]{4,}"), ("yy", "hh", "%y", "%h")
#: type codes of RDB files: width, then string, number or date
_RDB = re.compile(rb"\d{1,5}[dnsDNS]")


def is_unit(cell: bytes) -> bool:
    """Whether a cell is a unit: in brackets, or composed of symbols and words of units."""
    text = decoded(cell).strip(" \t\"'")
    if text[:1] in ("(", "[", "{", "<") and text[-1:] in (")", "]", "}", ">"):
        return not text[1:-1].strip().lstrip("+-").replace(",", "").replace(".", "").isdigit()
    if _is_word(text) or (_CLOCK.fullmatch(text.lower()) and any(part in text.lower() for part in _FIELDS)):
        return True
    parts = [part for part in _BETWEEN.split(text) if part]
    return (
        bool(parts)
        and any(map(_is_word, parts))
        and all(_is_word(part) or _is_number(part) for part in parts)
    )


def is_type(cell: bytes) -> bool:
    """Whether a cell is the name of a data type, or an RDB type code."""
    return cell.decode("latin-1").lower() in _TYPES or _RDB.fullmatch(cell) is not None


def is_string(cell: bytes) -> bool:
    """Whether a data type is text."""
    return cell.decode("latin-1").lower() in _STRINGS or (
        cell[-1:] in b"sS" and _RDB.fullmatch(cell) is not None
    )


def _is_number(part: str) -> bool:
    return part.lstrip("+-").isdigit() or part == "e"


def _is_word(part: str) -> bool:
    if part.lower() in _WORDS:
        return True
    at = next(
        (i for i, letter in enumerate(part) if i and (letter in "^*+-²³⁻" or letter.isdigit())), len(part)
    )
    symbol, power = part[:at], part[at:]
    if power and not _EXPONENT.fullmatch(power):
        return False
    if symbol.lower() in _WORDS and len(symbol) > 1:
        return True
    return symbol in _SYMBOLS or any(symbol.startswith(p) and symbol[len(p) :] in _SYMBOLS for p in _PREFIXES)
