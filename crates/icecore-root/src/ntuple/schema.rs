//! Fields and columns, from header and schema extension.

use icecore_grid::Result;

use super::column::Column;
use super::frame::{list, record, string};
use crate::cursor::{Cursor, Within, corrupt, unsupported};

/// Structure of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Plain,
    Collection,
    Record,
    Variant,
    Streamer,
}

/// A field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    /// Names of the parents and of the field, joined by `.`.
    pub path: String,
    pub type_name: String,
    pub type_alias: String,
    pub description: String,
    /// Id of the parent; `None` at the top.
    pub parent: Option<usize>,
    pub role: Role,
    /// Length of a fixed array.
    pub repetition: Option<u64>,
    /// Id of the original of a projected field.
    pub source: Option<usize>,
}

/// An alias of another column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alias {
    pub column: usize,
    pub field: usize,
}

#[derive(Default)]
pub(super) struct Schema {
    pub fields: Vec<Field>,
    pub columns: Vec<Column>,
    pub aliases: Vec<Alias>,
}

impl Schema {
    /// Reads a schema description and appends it to the known one.
    pub fn read(&mut self, cursor: &mut Cursor) -> Result<()> {
        for bytes in list(cursor, record)? {
            let id = self.fields.len();
            self.fields.push(field(&mut Cursor::new(bytes), id).within(|| format!("field {id}"))?);
        }
        for bytes in list(cursor, record)? {
            let id = self.columns.len();
            self.columns.push(Column::read(&mut Cursor::new(bytes)).within(|| format!("column {id}"))?);
        }
        for bytes in list(cursor, record)? {
            let mut cursor = Cursor::new(bytes);
            let (column, field) = (cursor.u32_le()? as usize, cursor.u32_le()? as usize);
            self.aliases.push(Alias { column, field });
        }
        list(cursor, record).map(|_| ()) // extra type information: streamers
    }

    /// Checks that ids exist, and joins the paths.
    pub fn finish(mut self) -> Result<Self> {
        let (fields, columns) = (self.fields.len(), self.columns.len());
        let lost = self.columns.iter().find(|c| c.field >= fields).map(|c| c.field);
        let lost = lost.or_else(|| self.fields.iter().filter_map(|f| f.source.or(f.parent)).find(|id| *id >= fields));
        let lost = lost.or_else(|| self.aliases.iter().find(|a| a.field >= fields).map(|a| a.field));
        if let Some(id) = lost {
            return Err(corrupt(format!("field {id} is used, the schema has {fields}")));
        }
        if let Some(alias) = self.aliases.iter().find(|a| a.column >= columns) {
            return Err(corrupt(format!("column {} is used, the schema has {columns}", alias.column)));
        }
        for id in 0..fields {
            let path = path(&self.fields, id)?;
            if let Some(field) = self.fields.get_mut(id) {
                field.path = path;
            }
        }
        Ok(self)
    }
}

/// Maximum nesting of fields.
const MAX_DEPTH: usize = 128;

fn path(fields: &[Field], id: usize) -> Result<String> {
    let mut names = Vec::new();
    let mut next = Some(id);
    while let Some(field) = next.and_then(|id| fields.get(id)) {
        if names.len() > MAX_DEPTH {
            return Err(corrupt(format!("field {id} has more than {MAX_DEPTH} parents, or is its own")));
        }
        names.push(field.name.as_str());
        next = field.parent;
    }
    names.reverse();
    Ok(names.join("."))
}

fn field(cursor: &mut Cursor, id: usize) -> Result<Field> {
    const REPETITIVE: u16 = 1;
    const PROJECTED: u16 = 2;
    cursor.take(8)?; // versions of field and type
    let (parent, role, flags) = (cursor.u32_le()? as usize, cursor.u16_le()?, cursor.u16_le()?);
    let (name, type_name) = (string(cursor)?, string(cursor)?);
    let (type_alias, description) = (string(cursor)?, string(cursor)?);
    let role = match role {
        0 => Role::Plain,
        1 => Role::Collection,
        2 => Role::Record,
        3 => Role::Variant,
        4 => Role::Streamer,
        other => return Err(unsupported(format!("structural role {other} of field {name:?}"))),
    };
    let repetition = if flags & REPETITIVE != 0 { Some(cursor.u64_le()?) } else { None };
    let source = if flags & PROJECTED != 0 { Some(cursor.u32_le()? as usize) } else { None };
    // A top-level field has itself as its parent.
    let parent = Some(parent).filter(|parent| *parent != id);
    Ok(Field { path: String::new(), name, type_name, type_alias, description, parent, role, repetition, source })
}
