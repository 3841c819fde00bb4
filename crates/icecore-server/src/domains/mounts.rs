//! What is served where: repositories and files under a name, directories with both somewhere below.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use icecore::catalog::Storage;
use icecore::grid::{Error, ErrorKind, Result};

use super::address::{Address, NAME_RULE};
use crate::config::Served;
use crate::http::private;

/// One mount, with the parts of its name.
#[derive(Clone, Debug)]
struct Mount {
    parts: Vec<String>,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Repository(Storage),
    /// The canonical path.
    Directory(PathBuf, Served),
    /// A file, which becomes a repository when it is opened.
    File(PathBuf),
}

/// What is served; whether files are, and whether errors list the names in a folder.
#[derive(Clone, Debug)]
pub(crate) struct Mounts(Vec<Mount>, bool, bool);

/// Endings of the names of files that directories show.
const SUFFIXES: [&str; 8] = ["h5", "hdf5", "hdf", "he5", "nc", "nc4", "gwf", "root"];

/// The object of a name.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    /// A repository, its served name, and the group's path in it (`/` for the whole repository).
    Repository {
        name: String,
        storage: Storage,
        group: String,
    },
    /// A file, its served name, and the group's path in it.
    File {
        name: String,
        path: PathBuf,
        group: String,
    },
    Folder(Vec<Entry>),
}

/// A member of a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub name: String,
    /// A repository or file, not a folder.
    pub is_repository: bool,
}

impl Mounts {
    /// # Errors
    /// `not-found` for a path that does not exist, `exists` for two things of one name, `invalid` when nothing is served.
    pub fn new(served: &[Served], has_files: bool, shows_names: bool) -> Result<Self> {
        if served.is_empty() {
            return Err(Error::new(ErrorKind::Invalid, "no repository to serve")
                .hint("name a repository, or a directory of them"));
        }
        let mut mounts: Vec<Mount> = Vec::new();
        for each in served {
            let mount = mount(each, served.len() == 1, has_files)?;
            if mounts.iter().any(|other| other.parts == mount.parts) {
                let message = format!("two of the served paths are named /{}", mount.parts.join("/"));
                return Err(Error::new(ErrorKind::Exists, message).hint("give one of them a name: NAME=PATH"));
            }
            let name = mount.parts.iter().map(|part| format!("/{part}")).collect::<String>();
            match &mount.what {
                What::Directory(path, _) | What::File(path) => private::hide(path, &name),
                What::Repository(storage) => private::hide(Path::new(&storage.url), &name),
            }
            mounts.push(mount);
        }
        // The longest matching name wins.
        mounts.sort_by_key(|mount| std::cmp::Reverse(mount.parts.len()));
        Ok(Self(mounts, has_files, shows_names))
    }

    /// # Errors
    /// `not-found`, listing the existing names next to it.
    pub fn find(&self, address: &Address) -> Result<Found> {
        let mount = self.0.iter().find(|mount| address.parts.starts_with(&mount.parts));
        let Some(mount) = mount else {
            return if address.parts.is_empty() {
                Ok(Found::Folder(self.members(&[])?))
            } else {
                Err(self.unknown(address))
            };
        };
        let rest = address.parts.get(mount.parts.len()..).unwrap_or_default();
        match &mount.what {
            What::Repository(storage) => Ok(repository(&mount.parts, storage.clone(), rest, address)),
            What::Directory(root, served) => self.below(root, served, address, rest),
            What::File(path) => Ok(file(&mount.parts, path.clone(), rest, address)),
        }
    }

    /// Whether one thing is served below another one.
    pub fn are_nested(&self) -> bool {
        let below = |inner: &Mount, outer: &Mount| {
            inner.parts.len() > outer.parts.len() && inner.parts.starts_with(&outer.parts)
        };
        self.0.iter().any(|inner| self.0.iter().any(|outer| below(inner, outer)))
    }

    /// The path of a served directory.
    pub fn directory(&self, address: &Address) -> Option<PathBuf> {
        let mount = self.0.iter().find(|mount| address.parts.starts_with(&mount.parts))?;
        let What::Directory(root, _) = &mount.what else { return None };
        let below = address.parts.get(mount.parts.len()..)?;
        below.iter().try_fold(root.clone(), |path, part| self.inside(root, &path, part))
    }

    /// The path of a member of a served directory, which need not exist.
    pub fn place(&self, address: &Address) -> Result<(PathBuf, Storage)> {
        let mount = self.0.iter().find(|mount| address.parts.starts_with(&mount.parts));
        let rest = mount.and_then(|mount| address.parts.get(mount.parts.len()..)).unwrap_or_default();
        let (Some(Mount { what: What::Directory(root, served), .. }), Some((last, above))) = (mount, rest.split_last())
        else {
            return Err(Error::new(
                ErrorKind::Permission,
                format!("/{} is not in a served directory", address.parts.join("/")),
            )
            .hint("domains can be created only in served directories"));
        };
        address.check_new()?;
        let folder = Address {
            parts: address.parts.iter().take(address.parts.len() - 1).cloned().collect(),
            version: None,
            group: Vec::new(),
        };
        match self.find(&folder)? {
            Found::Folder(_) => {}
            Found::Repository { name, .. } | Found::File { name, .. } => {
                return Err(Error::new(ErrorKind::Permission, format!("{name} is a domain, not a folder"))
                    .hint("make the domain in a folder"));
            }
        }
        let path = above.iter().fold(root.clone(), |path, part| path.join(part)).join(last);
        let url = path.to_string_lossy().into_owned();
        Ok((path, storage(served, &url)))
    }

    fn below(&self, root: &Path, served: &Served, address: &Address, rest: &[String]) -> Result<Found> {
        let mut path = root.to_owned();
        for (depth, part) in rest.iter().enumerate() {
            path = self.inside(root, &path, part).ok_or_else(|| self.unknown(address))?;
            let (name, group) = address.parts.split_at(address.parts.len() - rest.len() + depth + 1);
            if is_repository(&path) {
                return Ok(repository(name, storage(served, &path.to_string_lossy()), group, address));
            }
            if self.1 && is_file(&path) {
                return Ok(file(name, path, group, address));
            }
            if !path.is_dir() {
                return Err(self.unknown(address));
            }
        }
        match address.version {
            Some(_) => Err(self.unknown(address)),
            None => Ok(Found::Folder(self.members(&address.parts)?)),
        }
    }

    /// The members of a folder: of a served directory, and the names of other mounts.
    fn members(&self, parts: &[String]) -> Result<Vec<Entry>> {
        let mut members = BTreeMap::new();
        for mount in &self.0 {
            if let (true, Some(next)) = (mount.parts.starts_with(parts), mount.parts.get(parts.len())) {
                let is_last = mount.parts.len() == parts.len() + 1;
                members.insert(next.clone(), is_last && !matches!(mount.what, What::Directory(..)));
            }
            if let (true, What::Directory(root, _)) = (parts.starts_with(&mount.parts), &mount.what) {
                let below: PathBuf = parts.iter().skip(mount.parts.len()).collect();
                members.extend(listed(root, &root.join(below), self.1)?);
            }
        }
        let entry = |(name, is_repository)| Entry { name, is_repository };
        Ok(members.into_iter().map(entry).collect())
    }

    /// The error for a name, with the names in the deepest folder on its way. Looks at each directory once.
    fn unknown(&self, address: &Address) -> Error {
        let mount = self.0.iter().find(|mount| address.parts.starts_with(&mount.parts));
        let mut depth = mount.map_or(0, |mount| mount.parts.len());
        if let Some(Mount { what: What::Directory(root, _), .. }) = mount {
            let mut path = root.clone();
            for part in address.parts.get(depth..).unwrap_or_default() {
                path = match self.inside(root, &path, part) {
                    Some(path) if path.is_dir() && !is_repository(&path) => path,
                    _ => break,
                };
                depth += 1;
            }
        }
        let near = address.parts.get(..depth).unwrap_or_default();
        let beside = self.members(near).unwrap_or_default();
        let names: Vec<String> = beside.iter().take(8).map(|entry| entry.name.clone()).collect();
        let hint = match names.is_empty() || !self.2 {
            true => NAME_RULE.to_owned(),
            false => format!("/{} has: {}", near.join("/"), names.join(", ")),
        };
        Error::new(ErrorKind::NotFound, format!("there is no domain /{}", address.parts.join("/"))).hint(hint)
    }

    /// The path of a member of a directory; `None` where it does not exist, is hidden, or is a link out of what is served.
    fn inside(&self, root: &Path, directory: &Path, part: &str) -> Option<PathBuf> {
        let real = directory.join(part).canonicalize().ok()?;
        (real.starts_with(root) && !part.starts_with('.')).then_some(real)
    }
}

fn repository(name: &[String], storage: Storage, rest: &[String], address: &Address) -> Found {
    Found::Repository { name: format!("/{}", name.join("/")), storage, group: group(rest, address) }
}

fn file(name: &[String], path: PathBuf, rest: &[String], address: &Address) -> Found {
    Found::File { name: format!("/{}", name.join("/")), path, group: group(rest, address) }
}

fn group(rest: &[String], address: &Address) -> String {
    let group: String = rest.iter().chain(&address.group).map(|part| format!("/{part}")).collect();
    if group.is_empty() { "/".to_owned() } else { group }
}

fn mount(served: &Served, alone: bool, has_files: bool) -> Result<Mount> {
    let is_url = served.url.contains("://");
    let path = (!is_url).then(|| Path::new(&served.url).canonicalize());
    let path = path.transpose().map_err(|e| {
        Error::new(ErrorKind::NotFound, format!("{}: {e}", served.url))
            .hint("serve a repository, or a directory of them")
    })?;
    let last = served.url.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let base = path.as_deref().and_then(Path::file_name).map_or(last.to_owned(), |n| n.to_string_lossy().into_owned());
    let named = Address::parse(served.name.as_deref().unwrap_or(&base))?.parts;
    match path {
        Some(path) if !is_repository(&path) => {
            if has_files && path.is_file() {
                return Ok(Mount { parts: named, what: What::File(path) });
            }
            if !path.is_dir() {
                return Err(Error::new(
                    ErrorKind::Format,
                    format!("{}: neither a repository nor a directory", served.url),
                )
                .hint("link a file into a repository first: icecore link FILE --into REPOSITORY"));
            }
            let parts = if alone && served.name.is_none() { Vec::new() } else { named };
            Ok(Mount { parts, what: What::Directory(path, served.clone()) })
        }
        path => {
            let url = path.map_or(served.url.clone(), |path| path.to_string_lossy().into_owned());
            Ok(Mount { parts: named, what: What::Repository(storage(served, &url)) })
        }
    }
}

fn storage(served: &Served, url: &str) -> Storage {
    Storage { url: url.to_owned(), options: served.options.clone(), allow_links: served.allow_links.clone() }
}

/// The layout of an Icechunk repository.
fn is_repository(path: &Path) -> bool {
    path.join("snapshots").is_dir() && (path.join("repo").is_file() || path.join("refs").is_dir())
}

/// A file whose name says that it holds arrays.
fn is_file(path: &Path) -> bool {
    let suffix = path.extension().map(|suffix| suffix.to_string_lossy().to_ascii_lowercase());
    suffix.is_some_and(|suffix| SUFFIXES.contains(&suffix.as_str())) && path.is_file()
}

/// Folders, repositories and files of a directory, and which are domains.
fn listed(root: &Path, path: &Path, has_files: bool) -> Result<Vec<(String, bool)>> {
    let failed = |e: std::io::Error| Error::new(ErrorKind::Io, format!("a directory cannot be listed: {e}"));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') || name.contains('@') {
            continue;
        }
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        if is_link && !entry.path().canonicalize().is_ok_and(|real| real.starts_with(root)) {
            continue;
        }
        if entry.path().is_dir() {
            found.push((name, is_repository(&entry.path())));
        } else if has_files && is_file(&entry.path()) {
            found.push((name, true));
        }
    }
    Ok(found)
}
