"""Recognise units and data types in a line below the names of a table."""

from __future__ import annotations

import re

from icecore.sources.tables.encoding import decoded


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
