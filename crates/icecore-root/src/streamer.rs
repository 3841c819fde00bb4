//! `TStreamerInfo`: the members of each class, with their C++ types.

use std::collections::HashMap;

use icecore_grid::Result;

use crate::cursor::{Cursor, Within, corrupt};
use crate::object::{Buffer, Object, Pointer, finish, header, pointer, t_named, t_obj_array, t_object};

/// A class in one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Streamer {
    pub class: String,
    pub version: i32,
    pub checksum: u32,
    pub elements: Vec<StreamerElement>,
}

/// A member or a base of a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamerElement {
    pub name: String,
    pub title: String,
    /// The C++ type; `BASE` for a base class.
    pub type_name: String,
    /// ROOT's type code (`TStreamerInfo::EReadWrite`).
    pub code: i32,
    pub array_len: i32,
    /// Dimensions of an array of fixed shape.
    pub shape: Vec<u64>,
    /// The member that counts the elements of `T* x; //[n]`; empty for other members.
    pub counter: String,
}

/// All classes of a file, the newest version of each last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Streamers {
    classes: HashMap<String, Vec<Streamer>>,
}

impl Streamers {
    /// Reads the decompressed `TList` of a file.
    pub fn read(bytes: &[u8], key_len: usize) -> Result<Self> {
        let buffer = Buffer { bytes, key_len };
        let mut cursor = Cursor::new(bytes);
        let head = header(&mut cursor)?;
        t_object(&mut cursor)?;
        cursor.string()?;
        let count = cursor.i32()?;
        let mut out = Self::default();
        for _ in 0..count {
            if let Pointer::New(object) = pointer(&mut cursor, buffer)?
                && object.class == "TStreamerInfo"
            {
                let info = streamer(object, buffer)?;
                out.classes.entry(squeeze(&info.class)).or_default().push(info);
            }
            let options = usize::from(cursor.u8()?);
            if options == 255 && head.version > 4 {
                let long = cursor.u32()? as usize;
                cursor.take(long)?;
            } else {
                cursor.take(options)?;
            }
        }
        out.classes.values_mut().for_each(|versions| versions.sort_by_key(|info| info.version));
        Ok(out)
    }

    /// The newest version of a class.
    pub fn newest(&self, class: &str) -> Option<&Streamer> {
        self.classes.get(&squeeze(class)).and_then(|versions| versions.last())
    }

    /// The class, if the file has only one version of it.
    pub fn only(&self, class: &str) -> Option<&Streamer> {
        match self.classes.get(&squeeze(class))?.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }

    /// The member `name` of a class or of one of its bases.
    pub fn member(&self, class: &str, name: &str) -> Option<&StreamerElement> {
        self.member_below(class, name, 0)
    }

    fn member_below(&self, class: &str, name: &str, depth: usize) -> Option<&StreamerElement> {
        let info = self.newest(class).filter(|_| depth < 32)?;
        let own = info.elements.iter().find(|e| e.name == name && e.type_name != "BASE");
        own.or_else(|| {
            let bases = info.elements.iter().filter(|e| e.type_name == "BASE");
            bases.filter_map(|base| self.member_below(&base.name, name, depth + 1)).next()
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = &Streamer> {
        self.classes.values().flatten()
    }
}

/// A class name without spaces, for comparisons.
pub(crate) fn squeeze(name: &str) -> String {
    name.chars().filter(|c| *c != ' ').collect()
}

fn streamer<'a>(object: Object<'a>, buffer: Buffer<'a>) -> Result<Streamer> {
    let mut cursor = Cursor::at(buffer.bytes, object.start);
    header(&mut cursor)?;
    let (class, _) = t_named(&mut cursor)?;
    let (checksum, version) = (cursor.u32()?, cursor.i32()?);
    let mut elements = Vec::new();
    if let Pointer::New(list) = pointer(&mut cursor, buffer)? {
        let mut inner = Cursor::at(buffer.bytes, list.start);
        t_obj_array(&mut inner, buffer, |item| {
            if let Pointer::New(item) = item {
                elements.push(element(item, buffer)?);
            }
            Ok(())
        })
        .within(|| format!("class {class:?}"))?;
    }
    Ok(Streamer { class, version, checksum, elements })
}

/// The base part `TStreamerElement`, with which every kind of element begins, and the name of a counter.
fn element<'a>(object: Object<'a>, buffer: Buffer<'a>) -> Result<StreamerElement> {
    let mut cursor = Cursor::at(buffer.bytes, object.start);
    if object.class != "TStreamerElement" {
        header(&mut cursor)?;
    }
    if object.class == "TStreamerSTLstring" {
        header(&mut cursor)?; // Its base is TStreamerSTL.
    }
    let head = header(&mut cursor)?;
    let (name, title) = t_named(&mut cursor)?;
    let code = cursor.i32()?;
    cursor.take(4)?; // size
    let array_len = cursor.i32()?;
    let dimensions = usize::try_from(cursor.i32()?).unwrap_or_default();
    let bounds = if head.version == 1 { cursor.i32()? } else { 5 };
    let bounds = usize::try_from(bounds).map_err(|_| corrupt(format!("member {name:?}: {bounds} dimensions")))?;
    let shape =
        cursor.i32s(bounds)?.into_iter().take(dimensions).map(|n| u64::try_from(n).unwrap_or_default()).collect();
    let type_name = cursor.string()?;
    finish(&mut cursor, head)?;
    let counted = matches!(object.class, "TStreamerBasicPointer" | "TStreamerLoop");
    let counter = if counted { cursor.take(4).and_then(|_| cursor.string())? } else { String::new() };
    Ok(StreamerElement { name, title, type_name, code, array_len, shape, counter })
}
