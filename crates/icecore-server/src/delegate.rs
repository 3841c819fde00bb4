//! What the service leaves to the program that runs it: files become repositories, tables become files of other formats, and
//! products are computed.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use icecore::catalog::Storage;
use icecore::grid::Result;

/// The program's side. Its methods block, so they are called on the pool for blocking work.
pub trait Delegate: Debug + Send + Sync {
    /// The repository that links all arrays of a file: a new one after the file has changed.
    ///
    /// # Errors
    /// Those of reading the file.
    fn index(&self, file: &Path) -> Result<PathBuf>;

    /// The reply to a request for a table or a product.
    ///
    /// # Errors
    /// Become the reply's status.
    fn answer(&self, asked: Asked) -> Result<Reply>;
}

/// Finds a domain that the request's user may read.
#[derive(Clone)]
pub struct Locate(pub Arc<Locator>);

type Locator = dyn Fn(&str) -> Result<Located> + Send + Sync;

impl Debug for Locate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Locate")
    }
}

/// A request that the program answers.
#[derive(Clone, Debug)]
pub struct Asked {
    /// `tables` or `products`.
    pub collection: &'static str,
    /// The last part of the URL; empty for the list of a collection.
    pub name: String,
    /// `GET` or `POST`.
    pub method: String,
    /// The tables, or the sources of a product; the request's user may read them.
    pub located: Vec<Located>,
    /// For domains that parameters name. It blocks.
    pub locate: Locate,
    /// Parameters of the URL, names in lower case.
    pub params: Vec<(String, String)>,
    /// The header `Accept`.
    pub accept: String,
    pub body: Bytes,
}

/// A node of one version of a repository.
#[derive(Clone, Debug)]
pub struct Located {
    /// As the client named it.
    pub domain: String,
    pub storage: Storage,
    pub snapshot: String,
    /// The node's path in the repository.
    pub path: String,
}

/// A reply, whose blocks are made while they are sent.
pub struct Reply {
    pub content_type: String,
    pub blocks: Box<dyn Iterator<Item = Result<Bytes>> + Send>,
}
