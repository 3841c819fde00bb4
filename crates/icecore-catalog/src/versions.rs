//! Names of versions: branches, tags, revisions, times; the history between them.

pub(crate) mod clock;
pub(crate) mod history;
pub(crate) mod names;
pub(crate) mod resolve;
pub(crate) mod revision;
pub(crate) mod time;
