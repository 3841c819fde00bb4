//! Which part of a repository a copy has.

/// What a copy has of its source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scope {
    /// A branch, tag, version or time, which becomes `main`; None: all branches and tags.
    pub reference: Option<String>,
    /// Without the histories of these versions.
    pub is_shallow: bool,
    /// Only the nodes in this group.
    pub group: Option<String>,
    /// The bytes of linked files instead of the links.
    pub packs_links: bool,
}
