//! Decoding of serialized values into columns: one array for each number, text and list of a type.

use icecore_grid::{Error, ErrorKind, Result};

use crate::cursor::Cursor;
use crate::dtype::{DType, from_big_endian};
use crate::layout::{By, Form, Head, Layout, Struct};
use crate::object;

/// The values of a form; nested as the type is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    /// Numbers, or arrays of fixed shape, in native byte order.
    Numbers { dtype: DType, shape: Vec<u64>, bytes: Vec<u8> },
    /// Characters, and the length of each text.
    Text { lengths: Vec<u32>, bytes: Vec<u8> },
    /// Number of elements of each list, and the elements.
    List { lengths: Vec<u32>, content: Box<Column> },
    /// A column for each member.
    Record { tuple: bool, fields: Vec<(String, Column)> },
}

impl Form {
    /// An empty column of this form.
    #[must_use]
    pub fn column(&self) -> Column {
        let column = empty(&self.layout);
        if self.of_objects { list(column) } else { column }
    }

    /// Appends an entry. `whole`: the cursor ends with the entry. `count` is the value of the branch that counts the
    /// objects or elements; `lengths` are those of the arrays of objects that are not decoded yet.
    pub(crate) fn entry(
        &self,
        cursor: &mut Cursor,
        whole: bool,
        count: Option<u32>,
        lengths: &mut std::slice::Iter<u32>,
        column: &mut Column,
    ) -> Result<()> {
        let mut decoder = Decoder { lengths, memberwise: false, empty: false };
        match column {
            Column::List { lengths, content } if self.of_objects => {
                if count.is_none() && !whole {
                    return Err(unlike("objects without a counter or offsets".to_string()));
                }
                let found = decoder.objects(self, cursor, count, content)?;
                lengths.push(found);
            }
            Column::Text { lengths, .. } if whole && cursor.left() == 0 => lengths.push(0),
            _ => {
                let end = if self.framed { header(cursor)? } else { (None, false) };
                decoder.memberwise = end.1;
                decoder.values(&self.layout, 1, count, cursor, column)?;
                decoder.ends(end.0, cursor)?;
            }
        }
        match cursor.left() {
            left if whole && left > 0 => Err(unlike(format!("{left} bytes are left"))),
            _ => Ok(()),
        }
    }
}

/// The error of bytes that are not of the supposed form.
fn unlike(message: String) -> Error {
    Error::new(ErrorKind::Unsupported, message).hint("the class writes its values in another form, or they are damaged")
}

fn list(content: Column) -> Column {
    Column::List { lengths: Vec::new(), content: Box::new(content) }
}

fn empty(layout: &Layout) -> Column {
    let numbers = |dtype| Column::Numbers { dtype, shape: Vec::new(), bytes: Vec::new() };
    match layout {
        Layout::Number(dtype) => numbers(*dtype),
        Layout::Reduced(reduced) => numbers(if reduced.double { DType::Float64 } else { DType::Float32 }),
        Layout::Bits => numbers(DType::UInt32),
        Layout::Text | Layout::TString | Layout::Chars => Column::Text { lengths: Vec::new(), bytes: Vec::new() },
        Layout::Array(shape, item) => match empty(item) {
            Column::Numbers { dtype, .. } if item.is_number() => {
                Column::Numbers { dtype, shape: shape.clone(), bytes: Vec::new() }
            }
            content => shape.iter().fold(content, |content, _| list(content)),
        },
        Layout::List(item) | Layout::Counted { item, .. } => list(empty(item)),
        Layout::Framed(inner) => empty(inner),
        Layout::Struct(inner) => {
            let mut fields = Vec::new();
            inner.fields.iter().for_each(|(name, field)| shown(name, field, &mut fields));
            Column::Record { tuple: inner.head == Head::Pair, fields }
        }
        Layout::Object => Column::Record { tuple: false, fields: Vec::new() },
    }
}

/// Adds the columns of a member; those of a base class are members of the derived one.
fn shown(name: &str, layout: &Layout, fields: &mut Vec<(String, Column)>) {
    if !matches!(layout, Layout::Object) {
        fields.push((name.to_string(), empty(layout)));
    }
}

struct Decoder<'a, 'b> {
    lengths: &'a mut std::slice::Iter<'b, u32>,
    /// Whether the container that is being read has its members one after the other.
    memberwise: bool,
    /// Whether the last such container is empty: headers of members without values may follow.
    empty: bool,
}

impl Decoder<'_, '_> {
    /// Moves to the end of a container.
    fn ends(&mut self, end: Option<usize>, cursor: &mut Cursor) -> Result<()> {
        match end {
            Some(end) if std::mem::take(&mut self.empty) => cursor.seek(end),
            end => ends(end, cursor),
        }
    }

    /// Containers of several objects, each with its members one after the other; returns their number.
    fn sequences(&mut self, layout: &Layout, count: Option<u32>, cursor: &mut Cursor, out: &mut Column) -> Result<u32> {
        let (Layout::List(item), Column::List { lengths, content }) = (layout, out) else {
            return Err(unlike("members of something that is not a container".to_string()));
        };
        let Layout::Struct(inner) = &**item else {
            return Err(unlike("members of something that is not a class".to_string()));
        };
        let mut found = 0;
        while count.map_or(cursor.left() > 0, |count| found < count) {
            let len = bounded(cursor.u32()?, cursor)?;
            lengths.push(len);
            self.members(inner, len, cursor, content)?;
            found += 1;
        }
        self.empty = false;
        Ok(found)
    }

    /// A member of the objects of a collection: as many values as there are objects.
    fn objects(&mut self, form: &Form, cursor: &mut Cursor, count: Option<u32>, out: &mut Column) -> Result<u32> {
        if cursor.left() == 0 && count.is_none_or(|n| n == 0) {
            return Ok(0);
        }
        let framed = if form.framed { header(cursor)? } else { (None, false) };
        if framed.1 {
            member_version(cursor)?;
            let found = self.sequences(&form.layout, count, cursor, out)?;
            return ends(framed.0, cursor).map(|()| found);
        }
        if let Some(count) = count {
            self.values(&form.layout, count, None, cursor, out)?;
            return Ok(count);
        }
        let mut found = 0;
        while cursor.left() > 0 {
            let before = cursor.left();
            self.values(&form.layout, 1, None, cursor, out)?;
            if cursor.left() == before {
                return Err(unlike("values without bytes".to_string()));
            }
            found += 1;
        }
        Ok(found)
    }

    /// Appends `number` values; `count` is the length of a counted array that is the value of an entry.
    fn values(
        &mut self,
        layout: &Layout,
        number: u32,
        count: Option<u32>,
        cursor: &mut Cursor,
        out: &mut Column,
    ) -> Result<()> {
        match (layout, out) {
            (Layout::Number(dtype), Column::Numbers { bytes, .. }) => {
                let source = cursor.take(dtype.size().saturating_mul(number as usize))?;
                let start = bytes.len();
                bytes.resize(start + source.len(), 0);
                from_big_endian(source, dtype.size(), bytes.get_mut(start..).unwrap_or_default());
            }
            (Layout::Reduced(reduced), Column::Numbers { bytes, .. }) => {
                for _ in 0..number {
                    reduced.read(cursor, bytes)?;
                }
            }
            (Layout::Bits, Column::Numbers { bytes, .. }) => {
                for _ in 0..number {
                    bytes.extend_from_slice(&object::bits(cursor)?.to_ne_bytes());
                }
            }
            (Layout::Text | Layout::TString, Column::Text { lengths, bytes }) => {
                for _ in 0..number {
                    let text = cursor.text()?;
                    lengths.push(text.len() as u32);
                    bytes.extend_from_slice(text);
                }
            }
            (Layout::Chars, Column::Text { lengths, bytes }) => {
                for _ in 0..number {
                    let len = cursor.u32()?;
                    bytes.extend_from_slice(cursor.take(len as usize)?);
                    lengths.push(len);
                }
            }
            (Layout::Array(shape, item), out) => self.array(shape, item, number, cursor, out)?,
            (Layout::List(item), Column::List { lengths, content }) => {
                let memberwise = std::mem::take(&mut self.memberwise);
                for _ in 0..number {
                    if memberwise {
                        member_version(cursor)?;
                    }
                    let len = bounded(cursor.u32()?, cursor)?;
                    lengths.push(len);
                    match (memberwise, &**item) {
                        (true, Layout::Struct(inner)) => self.members(inner, len, cursor, content)?,
                        (true, _) => return Err(unlike("members of something that is not a class".to_string())),
                        _ => self.values(item, len, None, cursor, content)?,
                    }
                }
            }
            (Layout::Counted { item, flagged, .. }, Column::List { lengths, content }) => {
                for _ in 0..number {
                    let len = match count {
                        Some(count) => count,
                        None => *self.lengths.next().ok_or_else(|| unlike("an array without a counter".to_string()))?,
                    };
                    let len = if *flagged && cursor.u8()? == 0 { 0 } else { bounded(len, cursor)? };
                    lengths.push(len);
                    self.values(item, len, None, cursor, content)?;
                }
            }
            (Layout::Framed(inner), out) => {
                for _ in 0..number {
                    let (end, memberwise) = header(cursor)?;
                    self.memberwise = memberwise;
                    self.values(inner, 1, None, cursor, out)?;
                    self.ends(end, cursor)?;
                }
            }
            (Layout::Struct(inner), out) => {
                for _ in 0..number {
                    self.record(inner, cursor, out)?;
                }
            }
            (Layout::Object, _) => {
                for _ in 0..number {
                    object::t_object(cursor)?;
                }
            }
            _ => return Err(Error::new(ErrorKind::Internal, "a column that is not of its layout")),
        }
        Ok(())
    }

    fn array(
        &mut self,
        shape: &[u64],
        item: &Layout,
        number: u32,
        cursor: &mut Cursor,
        out: &mut Column,
    ) -> Result<()> {
        let Some((first, rest)) = shape.split_first() else { return self.values(item, number, None, cursor, out) };
        let len = u32::try_from(*first).ok().filter(|n| number == 0 || *n as usize <= cursor.left());
        let len = len.ok_or_else(|| unlike(format!("arrays of shape {shape:?} in {} bytes", cursor.left())))?;
        let all = number.checked_mul(len).ok_or_else(|| unlike(format!("{number} arrays of shape {shape:?}")))?;
        match out {
            Column::List { lengths, content } => {
                lengths.extend(std::iter::repeat_n(len, number as usize));
                self.array(rest, item, all, cursor, content)
            }
            numbers => self.array(rest, item, all, cursor, numbers),
        }
    }

    /// An object: its header, then its members.
    fn record(&mut self, of: &Struct, cursor: &mut Cursor, out: &mut Column) -> Result<()> {
        let end = match of.head {
            Head::Class { version, checksum } => class_header(version, checksum, cursor)?,
            Head::None | Head::Pair => None,
        };
        let Column::Record { fields, .. } = out else {
            return Err(Error::new(ErrorKind::Internal, "an object that is not a record"));
        };
        let mut known: Vec<Option<u32>> = Vec::with_capacity(of.fields.len());
        let mut columns = fields.iter_mut();
        for (_, layout) in &of.fields {
            if matches!(layout, Layout::Object) {
                object::t_object(cursor)?;
                known.push(None);
                continue;
            }
            let Some((_, column)) = columns.next() else { break };
            let count = match layout {
                Layout::Counted { by: By::Member(number), .. } => known.get(*number).copied().flatten(),
                _ => None,
            };
            self.values(layout, 1, count, cursor, column)?;
            known.push(last_integer(column));
        }
        ends(end, cursor)
    }

    /// Objects of a container whose members are written one after the other.
    fn members(&mut self, of: &Struct, number: u32, cursor: &mut Cursor, out: &mut Column) -> Result<()> {
        let Column::Record { fields, .. } = out else {
            return Err(Error::new(ErrorKind::Internal, "an object that is not a record"));
        };
        self.empty = number == 0;
        if number == 0 {
            return Ok(());
        }
        if of.fields.len() != fields.len() {
            return Err(unlike("members of classes with bases, one after the other".to_string()));
        }
        for ((_, layout), (_, column)) in of.fields.iter().zip(fields) {
            let inner = match layout {
                Layout::Framed(inner) => inner,
                other => other,
            };
            if matches!(inner, Layout::List(_) | Layout::Text) {
                header(cursor)?;
            }
            self.values(inner, number, None, cursor, column)?;
        }
        Ok(())
    }
}

/// Rejects a length that the bytes that are left can't hold.
fn bounded(len: u32, cursor: &Cursor) -> Result<u32> {
    if len > 0 && len as usize > cursor.left() {
        return Err(unlike(format!("{len} elements in {} bytes", cursor.left())));
    }
    Ok(len)
}

const MEMBERWISE: u16 = 1 << 14;

/// The byte count and the version of a container: its end, and whether members are written one after the other.
fn header(cursor: &mut Cursor) -> Result<(Option<usize>, bool)> {
    let head = object::header(cursor)?;
    Ok((head.end, head.version & MEMBERWISE != 0))
}

/// The version of the class whose members are written one after the other, with a checksum if it has none.
fn member_version(cursor: &mut Cursor) -> Result<()> {
    if cursor.i16()? <= 0 {
        cursor.take(4)?;
    }
    Ok(())
}

fn class_header(version: i32, checksum: u32, cursor: &mut Cursor) -> Result<Option<usize>> {
    let head = object::header(cursor)?;
    let found = match head.version {
        0 => cursor.u32()? == checksum,
        other => i32::from(other) == version,
    };
    if !found {
        return Err(unlike(format!(
            "an object of version {}, its class is described as version {version}",
            head.version
        )));
    }
    Ok(head.end)
}

fn ends(end: Option<usize>, cursor: &Cursor) -> Result<()> {
    match end {
        Some(end) if end != cursor.position() => {
            Err(unlike(format!("values end at byte {}, their byte count at {end}", cursor.position())))
        }
        _ => Ok(()),
    }
}

/// The last value of a column of integers.
fn last_integer(column: &Column) -> Option<u32> {
    match column {
        Column::Numbers { dtype: DType::Int32 | DType::UInt32, bytes, .. } => {
            bytes.last_chunk::<4>().map(|bytes| u32::from_ne_bytes(*bytes))
        }
        Column::Numbers { dtype: DType::Int16 | DType::UInt16, bytes, .. } => {
            bytes.last_chunk::<2>().map(|bytes| u32::from(u16::from_ne_bytes(*bytes)))
        }
        Column::Numbers { dtype: DType::UInt8 | DType::Int8, bytes, .. } => bytes.last().map(|byte| u32::from(*byte)),
        _ => None,
    }
}
