//! Text tables: formats, parsing, printing.

use std::collections::BTreeMap;

use icecore::chunk::{DType, crc32c};
use icecore::grid::{Error, ErrorKind};
use icecore::pool;
use icecore::write::Data;
use icecore_text::{
    Column, Escapes, Format, Hint, Layout, LineShape, Misfits, Style, Values, View, best_lag, cells_of, infer_style,
    pad_rows as padded, valueless,
};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::error::{OrRaise, raise};
use crate::rows::Columns;
use crate::writer::elements;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<TextFormat>()?;
    module.add_function(wrap_pyfunction!(infer_column, module)?)?;
    module.add_function(wrap_pyfunction!(split_row, module)?)?;
    module.add_function(wrap_pyfunction!(valued, module)?)?;
    module.add_function(wrap_pyfunction!(find_lag, module)?)?;
    module.add_function(wrap_pyfunction!(raw_escapes, module)?)?;
    module.add_function(wrap_pyfunction!(pad_rows, module)?)?;
    module.add_function(wrap_pyfunction!(line_shape, module)?)?;
    module.add_function(wrap_pyfunction!(checksum, module)?)?;
    module.add_function(wrap_pyfunction!(read_escapes, module)?)
}

/// The print format of a text table.
#[pyclass(frozen, module = "icecore._icecore")]
pub struct TextFormat {
    format: Format,
}

#[pymethods]
impl TextFormat {
    #[new]
    fn new(json: &str) -> PyResult<Self> {
        Ok(Self { format: Format::parse(json).or_raise()? })
    }

    #[getter]
    fn json(&self) -> String {
        self.format.to_json()
    }

    /// `{"columns", "escapes", "rows", "used", "lines", "escaped", "outside", "lost", "junk", "strays"}` of a block of
    /// text (u1); `checked`: everything is printed again and compared. `strays`: for each line that is not a row, the
    /// number of the next row, if `outside`, `lost` or `junk` has entries.
    #[pyo3(signature = (text, last, checked=false))]
    fn parse<'py>(
        &self,
        py: Python<'py>,
        text: PyReadonlyArray1<'py, u8>,
        last: bool,
        checked: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let text = text.as_slice()?;
        let pool = pool().or_raise()?;
        let parse = || icecore_text::parse_apart(&self.format, text, last, checked);
        let (parsed, behind) = py.detach(|| pool.install(parse)).or_raise()?;
        let result = PyDict::new(py);
        result.set_item("rows", parsed.escapes.rows)?;
        result.set_item("used", parsed.used)?;
        result.set_item("escaped", parsed.escapes.cells.len())?;
        result.set_item("lines", parsed.escapes.lines.len())?;
        let outside = outside(py, &self.format, &parsed.escapes);
        let odd = outside.is_some() || parsed.lost.iter().chain(&parsed.junk).any(|misfits| misfits.count > 0);
        let strays = parsed.escapes.lines.iter().filter(|_| odd).map(|(row, _)| *row).collect::<Vec<_>>();
        result.set_item("strays", strays)?;
        result.set_item("outside", outside)?;
        let first = parsed.escapes.lines.first().map(|(row, line)| (*row, PyBytes::new(py, line)));
        result.set_item("line", first)?;
        result.set_item("escapes", PyBytes::new(py, &py.detach(|| parsed.escapes.encode())))?;
        result.set_item("lost", misfits(py, &parsed.lost)?)?;
        result.set_item("junk", misfits(py, &parsed.junk)?)?;
        result.set_item("words", parsed.junk.iter().map(|misfits| misfits.words).collect::<Vec<_>>())?;
        result.set_item("columns", Py::new(py, Columns::new(parsed.columns, behind))?)?;
        Ok(result)
    }

    /// The text of a stretch of rows, in parts (u1): for each column i8, f8, the bytes of its text, or strings.
    fn print<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<Bound<'py, PyAny>>,
        escapes: &[u8],
    ) -> PyResult<Bound<'py, PyList>> {
        let pool = pool().or_raise()?;
        let (escapes, _) = Escapes::decode(escapes).or_raise()?;
        if columns.len() != self.format.columns.len() {
            let message = format!("{} arrays for {} columns of text", columns.len(), self.format.columns.len());
            return Err(raise(Error::new(ErrorKind::Invalid, message)));
        }
        let both = self.format.columns.iter().zip(&columns);
        let lent: Vec<Lent<'_>> = both.map(|(column, array)| Lent::of(column, array)).collect::<PyResult<_>>()?;
        let views: Vec<View<'_>> = lent.iter().map(Lent::view).collect::<PyResult<_>>()?;
        let parts = py.detach(|| pool.install(|| icecore_text::print(&self.format, &views, &escapes))).or_raise()?;
        PyList::new(py, parts.into_iter().map(|part| PyArray1::from_vec(py, part)))
    }
}

/// A column's array during printing.
enum Lent<'py> {
    Int(PyReadonlyArray1<'py, i64>),
    Real(PyReadonlyArray1<'py, f64>),
    Text(usize, PyReadonlyArray1<'py, u8>),
    Strings(Data),
}

impl<'py> Lent<'py> {
    fn of(column: &Column, array: &Bound<'py, PyAny>) -> PyResult<Self> {
        Ok(match &column.style {
            Style::Words(_) if matches!(column.values(0), Values::Strings { .. }) => {
                Lent::Strings(elements(array.py(), &DType::VlenUtf8, array)?.1)
            }
            Style::Words(_) => Lent::Text(column.size as usize, array.extract()?),
            Style::Real(_) => Lent::Real(array.extract()?),
            Style::Number(_) if column.scale > 0 => Lent::Real(array.extract()?),
            _ => Lent::Int(array.extract()?),
        })
    }

    fn view(&self) -> PyResult<View<'_>> {
        Ok(match self {
            Lent::Int(array) => View::Int(array.as_slice()?),
            Lent::Real(array) => View::Real(array.as_slice()?),
            Lent::Text(width, array) => View::Text { width: *width, bytes: array.as_slice()? },
            Lent::Strings(Data::Variable { blob, ends }) => View::Strings { from: 0, ends, bytes: blob },
            Lent::Strings(Data::Fixed(_)) => View::Int(&[]),
        })
    }
}

/// (column, count, first row, longest) of the columns with such cells.
fn misfits<'py>(py: Python<'py>, all: &[Misfits]) -> PyResult<Bound<'py, PyList>> {
    let found = all.iter().enumerate().filter(|(_, m)| m.count > 0);
    PyList::new(py, found.map(|(i, m)| (i, m.count, m.row, PyBytes::new(py, &m.longest))))
}

/// (rows, first row, its bytes) if rows have bytes that belong to no column and differ from the template's; otherwise
/// None. Differences in the kind of spaces are ignored.
fn outside<'py>(py: Python<'py>, format: &Format, escapes: &Escapes) -> Option<(usize, u32, Bound<'py, PyBytes>)> {
    let Layout::Fixed { cells, template, .. } = &format.layout else { return None };
    let free = format.columns.len()..cells.len();
    let bytes = |text: u32| escapes.texts.get(text as usize).map_or(&[][..], Vec::as_slice);
    let inked = |text: &[u8]| text.iter().any(|b| !b.is_ascii_whitespace());
    let usual = |cell: usize| {
        let (start, length) = cells.get(cell).copied().unwrap_or_default();
        template.get(start as usize..(start + length) as usize).unwrap_or_default()
    };
    let differs = |cell: usize, text: u32| inked(bytes(text)) || inked(usual(cell));
    let mut found = escapes.cells.iter().filter(|cell| {
        let place = usize::from(cell.1);
        free.contains(&place) && differs(place, cell.2)
    });
    let (first, _, text) = found.next()?;
    let mut rows: Vec<u32> = found.map(|cell| cell.0).filter(|row| row != first).collect();
    rows.dedup();
    Some((rows.len() + 1, *first, PyBytes::new(py, bytes(*text))))
}

/// Pads lines with spaces to the length of a row, as the parser of rows without trailing spaces does; `characters`:
/// stretches of a row that are counted in characters, each with its number of characters and of bytes.
#[pyfunction]
#[pyo3(signature = (template, text, characters=Vec::new()))]
fn pad_rows<'py>(py: Python<'py>, template: &[u8], text: &[u8], characters: Vec<(u32, u32)>) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &padded(template, &characters, text))
}

/// Lines by length, lines that occupy each column, lines by words, and the widest character of each column.
type LineCounts = (BTreeMap<usize, u64>, Vec<u64>, BTreeMap<usize, u64>, Vec<u8>);

/// ({length: lines}, for each column the number of lines with anything but a space or a tab there, {words: lines}, for
/// each column the most bytes of a character there without the first) of the lines that are neither blank nor comments
/// and have spaces in the columns `like`. `characters`: columns are characters, not bytes.
#[pyfunction]
#[pyo3(signature = (text, like, characters=false))]
fn line_shape(
    py: Python<'_>,
    text: PyReadonlyArray1<'_, u8>,
    like: Vec<usize>,
    characters: bool,
) -> PyResult<LineCounts> {
    let text = text.as_slice()?;
    let shape = py.detach(|| LineShape::of(text, &like, characters));
    Ok((shape.lengths, shape.occupied, shape.words, shape.wide))
}

/// A column (JSON) that prints most of `cells` unchanged; `hint`: any, number, hex, words, text (no times) or comma
/// (any, with decimal commas).
#[pyfunction]
#[pyo3(signature = (name, cells, hint, fixed, longest, separator))]
fn infer_column(
    name: &str,
    cells: Vec<Bound<'_, PyBytes>>,
    hint: &str,
    fixed: bool,
    longest: Option<u32>,
    separator: u8,
) -> PyResult<String> {
    let hint = match hint {
        "number" => Hint::Number,
        "hex" => Hint::Hex,
        "words" => Hint::Words,
        "text" => Hint::Text,
        "comma" => Hint::Comma,
        _ => Hint::Any,
    };
    let cells: Vec<&[u8]> = cells.iter().map(|c| c.as_bytes()).collect();
    let column = infer_style(name, &cells, hint, fixed, longest, separator);
    serde_json::to_string(&column).map_err(|e| raise(Error::new(ErrorKind::Internal, e.to_string())))
}

/// (cells, offset after the line feed or None) of the row at `at`; `columns`: quotes span lines if this number of cells
/// results.
#[pyfunction]
#[pyo3(signature = (text, at, separator, columns=None))]
fn split_row<'py>(
    py: Python<'py>,
    text: &[u8],
    at: usize,
    separator: u8,
    columns: Option<usize>,
) -> (Vec<Bound<'py, PyBytes>>, Option<usize>) {
    let mut cells = Vec::new();
    let end = cells_of(text, at, separator, columns, &mut cells);
    let bytes = cells.into_iter().map(|(a, b)| PyBytes::new(py, text.get(a..b).unwrap_or_default()));
    (bytes.collect(), end)
}

/// The cells that are neither blank nor a marker of a missing value (NA, NaN, null).
#[pyfunction]
fn valued(cells: Vec<Bound<'_, PyBytes>>) -> Vec<Bound<'_, PyBytes>> {
    cells.into_iter().filter(|cell| !valueless(cell.as_bytes())).collect()
}

/// The period of the values, from 1 to `longest`.
#[pyfunction]
fn find_lag(py: Python<'_>, values: PyReadonlyArray1<'_, i64>, longest: usize) -> PyResult<usize> {
    let values = values.as_slice()?;
    Ok(py.detach(|| best_lag(values, longest)))
}

/// Escapes with no rows and one line: bytes outside a table.
#[pyfunction]
fn raw_escapes<'py>(py: Python<'py>, text: &[u8]) -> Bound<'py, PyBytes> {
    let escapes = Escapes { lines: vec![(0, text.to_vec())], ..Escapes::default() };
    PyBytes::new(py, &escapes.encode())
}

/// (rows, length in bytes) of the escapes that begin at `at` in `stored`.
#[pyfunction]
#[pyo3(signature = (stored, at=0))]
fn read_escapes(stored: &[u8], at: usize) -> PyResult<(u32, usize)> {
    let (escapes, used) = Escapes::decode(stored.get(at..).unwrap_or_default()).or_raise()?;
    Ok((escapes.rows, used))
}

/// The CRC-32C of `part`, continued from `before`.
#[pyfunction]
fn checksum(part: &[u8], before: u32) -> u32 {
    crc32c(before, part)
}
