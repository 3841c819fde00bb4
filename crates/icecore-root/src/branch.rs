//! `TBranch`, `TBranchElement` and `TBranchObject`: names, leaves and baskets.

use std::collections::HashMap;

use icecore_grid::{Error, Result};

use crate::cursor::{Cursor, Within, corrupt, unsupported};
use crate::embedded::{self, Embedded};
use crate::interpretation::Interpretation;
use crate::layout::Form;
use crate::leaf::{self, Leaf};
use crate::object::{Buffer, Object, Pointer, finish, header, skip, t_named, t_obj_array, whole};

/// Maximum nesting of branches.
const MAX_DEPTH: usize = 64;
/// Maximum number of branches of a tree.
const MAX_BRANCHES: usize = 1 << 20;

/// Location of a basket in the file, and its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BasketRange {
    /// Offset of the basket's key.
    pub offset: u64,
    /// Bytes of key and data as stored.
    pub len: u64,
    pub first_entry: u64,
    pub end_entry: u64,
}

/// A branch of a tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    pub name: String,
    /// Names of the parents and of the branch, joined by `/`.
    pub path: String,
    pub title: String,
    /// `TBranch`, `TBranchElement` or `TBranchObject`.
    pub class: String,
    /// Index of the parent in [`Tree::branches`](crate::Tree::branches).
    pub parent: Option<usize>,
    pub has_children: bool,
    pub entries: u64,
    pub first_entry: u64,
    pub leaves: Vec<Leaf>,
    /// Type and encoding of the values.
    pub interpretation: Interpretation,
    /// Serialized form of an entry, if entries are decoded one by one; of an unsupported type, what the file says of it.
    pub form: Option<Form>,
    /// Baskets with their own keys in the file.
    pub baskets: Vec<BasketRange>,
    /// Baskets inside the tree's object, after all others.
    pub embedded: Vec<Embedded>,
    /// Another file that holds the baskets; empty for this one.
    pub file_name: String,
    /// Reason why the baskets cannot be read, if they contradict the branch.
    pub damage: Option<Error>,
    /// The class that the branch holds or is a member of.
    pub class_name: String,
    pub parent_class: String,
    pub clones_class: String,
    pub element_type: i32,
    pub streamer_type: i32,
}

/// Branches in reading order, and the leaves that were streamed inside others.
#[derive(Default)]
pub(crate) struct Collector {
    branches: Vec<Branch>,
    inline: Vec<Leaf>,
}

impl Collector {
    /// Resolves the counters of leaves to the paths of their branches.
    pub fn finish(mut self) -> Result<Vec<Branch>> {
        let mut names = HashMap::new();
        for leaf in &self.inline {
            names.insert(leaf.id, leaf.name.clone());
        }
        for branch in &self.branches {
            names.extend(branch.leaves.iter().map(|leaf| (leaf.id, branch.path.clone())));
        }
        for branch in &mut self.branches {
            let counter = branch.leaves.iter().find_map(|leaf| leaf.counter);
            let Some(id) = counter else { continue };
            let name = names.get(&id).cloned();
            let name =
                name.ok_or_else(|| corrupt(format!("branch {:?}: its counter is not in the tree", branch.path)))?;
            branch.interpretation = Interpretation::CountedBy(name);
        }
        Ok(self.branches)
    }
}

/// Reads an array of branches below `parent`.
pub(crate) fn read_branches<'a>(
    cursor: &mut Cursor<'a>,
    buffer: Buffer<'a>,
    parent: Option<(usize, usize)>,
    all: &mut Collector,
) -> Result<()> {
    t_obj_array(cursor, buffer, |item| match item {
        Pointer::New(object) => read_branch(object, buffer, parent, all),
        Pointer::Null => Ok(()),
        Pointer::Seen(_) => Err(corrupt("a branch occurs twice".to_string())),
    })
}

/// `parent` is the index and the depth of the parent.
fn read_branch<'a>(
    object: Object<'a>,
    buffer: Buffer<'a>,
    parent: Option<(usize, usize)>,
    all: &mut Collector,
) -> Result<()> {
    let depth = parent.map_or(0, |(_, depth)| depth + 1);
    if depth > MAX_DEPTH || all.branches.len() >= MAX_BRANCHES {
        return Err(corrupt(format!("more than {MAX_DEPTH} levels or {MAX_BRANCHES} branches")));
    }
    let mut cursor = Cursor::at(buffer.bytes, object.start);
    let outer = match object.class {
        "TBranch" => None,
        "TBranchElement" | "TBranchObject" => Some(header(&mut cursor)?),
        other => return Err(unsupported(format!("a branch of class {other}"))),
    };
    let index = all.branches.len();
    read_base(&mut cursor, buffer, object, parent, (index, depth), all)?;
    let Some(outer) = outer else { return Ok(()) };
    let mut text = || cursor.string();
    let Some(branch) = all.branches.get_mut(index) else { return Ok(()) };
    branch.class_name = text()?;
    if object.class == "TBranchElement" && outer.version >= 8 {
        branch.parent_class = text()?;
        branch.clones_class = text()?;
        cursor.take(4)?; // checksum
        cursor.take(if outer.version >= 10 { 2 } else { 4 })?; // version of the class
        cursor.take(4)?; // index of the member
        branch.element_type = cursor.i32()?;
        branch.streamer_type = cursor.i32()?;
    } else if object.class == "TBranchElement" {
        cursor.take(8)?;
        branch.element_type = cursor.i32()?;
        branch.streamer_type = cursor.i32()?;
    }
    Ok(())
}

/// Reads the part `TBranch`; appends the branch and its sub-branches to `all`.
fn read_base<'a>(
    cursor: &mut Cursor<'a>,
    buffer: Buffer<'a>,
    object: Object<'a>,
    parent: Option<(usize, usize)>,
    (index, depth): (usize, usize),
    all: &mut Collector,
) -> Result<()> {
    let base = header(cursor)?;
    let (name, title) = t_named(cursor)?;
    let above = parent.and_then(|(parent, _)| all.branches.get(parent)).map(|b| b.path.as_str());
    let path = above.map_or_else(|| name.clone(), |above| format!("{above}/{name}"));
    let label = path.clone();
    (|| {
        skip(cursor, "TAttFill")?;
        let head = read_head(cursor, base.version)?;
        all.branches.push(Branch {
            name,
            path,
            title,
            class: object.class.to_string(),
            parent: parent.map(|(parent, _)| parent),
            has_children: false,
            entries: head.entries,
            first_entry: head.first_entry,
            leaves: Vec::new(),
            interpretation: Interpretation::Group,
            form: None,
            baskets: Vec::new(),
            embedded: Vec::new(),
            file_name: String::new(),
            damage: None,
            class_name: String::new(),
            parent_class: String::new(),
            clones_class: String::new(),
            element_type: -1,
            streamer_type: -1,
        });
        read_branches(cursor, buffer, Some((index, depth)), all)?;
        let mut leaves = Vec::new();
        t_obj_array(cursor, buffer, |item| {
            if let Pointer::New(object) = item {
                leaves.push(leaf::read(object, buffer, &mut all.inline, 0)?);
            }
            Ok(())
        })
        .within(|| "leaves")?;
        let embedded = embedded::read_all(cursor, buffer).within(|| "embedded baskets")?;
        let lists = read_lists(cursor, &head)?;
        let file_name = cursor.string()?;
        finish(cursor, base)?;
        let has_children = all.branches.len() > index + 1;
        if let Some(branch) = all.branches.get_mut(index) {
            branch.leaves = leaves;
            branch.has_children = has_children;
            branch.file_name = file_name;
            match ranges(&lists, &head) {
                Ok(baskets) => branch.baskets = baskets,
                Err(error) => branch.damage = Some(error),
            }
            let end = branch.baskets.last().map_or(head.first_entry, |b| b.end_entry);
            branch.embedded = embedded::number(embedded, end, head.entries.saturating_add(head.first_entry));
        }
        Ok(())
    })()
    .within(|| format!("branch {label:?}"))
}

/// The numbers at the beginning of a branch.
struct Head {
    version: u16,
    write_basket: usize,
    max_baskets: usize,
    entries: u64,
    first_entry: u64,
}

fn read_head(cursor: &mut Cursor, version: u16) -> Result<Head> {
    if !(10..=13).contains(&version) && version != 8 {
        return Err(unsupported(format!("TBranch of version {version}; versions 8 and 10 to 13 are read")));
    }
    cursor.take(3 * 4)?; // compression, size of baskets, length of offsets
    let write_basket = cursor.i32()?;
    cursor.take(if version >= 10 { 8 } else { 4 })?; // entry number
    if version >= 13 {
        skip_io_features(cursor)?;
    }
    cursor.take(4)?; // offset in a class
    let max_baskets = cursor.i32()?;
    cursor.take(4)?; // split level
    let entries = if version >= 10 { cursor.i64()? } else { whole(cursor.f64()?)? as i64 };
    let first_entry = if version >= 11 { cursor.i64()? } else { 0 };
    cursor.take(16)?; // total and compressed bytes
    let counts = (usize::try_from(write_basket), usize::try_from(max_baskets));
    match (counts, u64::try_from(entries), u64::try_from(first_entry)) {
        ((Ok(write_basket), Ok(max_baskets)), Ok(entries), Ok(first_entry))
            if entries.checked_add(first_entry).is_some_and(|end| i64::try_from(end).is_ok()) =>
        {
            Ok(Head { version, write_basket, max_baskets, entries, first_entry })
        }
        _ => Err(corrupt(format!(
            "basket {write_basket} of {max_baskets}, {entries} entries from {first_entry}: none may be negative or overflow"
        ))),
    }
}

/// `ROOT::TIOFeatures`: flags that the baskets repeat.
pub(crate) fn skip_io_features(cursor: &mut Cursor) -> Result<()> {
    skip(cursor, "ROOT::TIOFeatures")
}

/// Lengths, first entries and offsets of the baskets.
struct Lists {
    lengths: Vec<i32>,
    entries: Vec<i64>,
    offsets: Vec<i64>,
}

fn read_lists(cursor: &mut Cursor, head: &Head) -> Result<Lists> {
    let n = head.max_baskets;
    let wide = |cursor: &mut Cursor| {
        cursor.take(1)?;
        if head.version >= 10 { cursor.i64s(n) } else { Ok(cursor.i32s(n)?.into_iter().map(i64::from).collect()) }
    };
    cursor.take(1)?;
    let lengths = cursor.i32s(n).within(|| "lengths of baskets")?;
    let entries = wide(cursor).within(|| "entries of baskets")?;
    // From version 10 on, offsets have 8 bytes; a marker of 2 means the same in files that began with 4.
    let offsets = wide(cursor).within(|| "offsets of baskets")?;
    Ok(Lists { lengths, entries, offsets })
}

/// The baskets with an offset in the file; later ones are embedded or were never written.
fn ranges(lists: &Lists, head: &Head) -> Result<Vec<BasketRange>> {
    let written = head.write_basket.min(head.max_baskets);
    let count = lists.offsets.iter().take(written).take_while(|offset| **offset != 0).count();
    let end_of_all = (head.first_entry + head.entries) as i64;
    let mut out = Vec::with_capacity(count);
    for basket in 0..count {
        let at = |list: &[i64]| list.get(basket).copied().unwrap_or_default();
        let (offset, first) = (at(&lists.offsets), at(&lists.entries));
        let len = lists.lengths.get(basket).copied().unwrap_or_default();
        let end = lists.entries.get(basket + 1).copied().unwrap_or(end_of_all);
        if offset < 0 || len <= 0 || first < 0 || end < first || end > end_of_all {
            return Err(corrupt(format!(
                "basket {basket}: {len} bytes at offset {offset}, entries {first} to {end} of {end_of_all}"
            )));
        }
        out.push(BasketRange {
            offset: offset as u64,
            len: len as u64,
            first_entry: first as u64,
            end_entry: end as u64,
        });
    }
    Ok(out)
}

impl Branch {
    /// Records contradictions between the baskets and the tree as damage.
    pub(crate) fn check(&mut self) {
        if self.damage.is_some()
            || matches!(self.interpretation, Interpretation::Group | Interpretation::Unsupported(_))
        {
            return;
        }
        let mut next = self.first_entry;
        let own = self.baskets.iter().map(|b| (b.first_entry, b.end_entry));
        let embedded = self.embedded.iter().map(|b| (b.first_entry, b.first_entry.saturating_add(b.entries)));
        for (number, (first, end)) in own.chain(embedded).enumerate() {
            if first != next {
                self.damage = Some(corrupt(format!(
                    "branch {:?}: basket {number} begins with entry {first}, not {next}",
                    self.path
                )));
                return;
            }
            next = end;
        }
        let end = self.first_entry + self.entries;
        if next != end {
            self.damage =
                Some(corrupt(format!("branch {:?}: its baskets end at entry {next}, the branch at {end}", self.path)));
        }
    }

    /// Whether all entries are in baskets of their own, which can be linked in place.
    #[must_use]
    pub fn is_linkable(&self) -> bool {
        self.embedded.is_empty() && self.file_name.is_empty() && self.damage.is_none()
    }
}
