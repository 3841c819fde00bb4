//! Names of a repository's versions.

use std::collections::BTreeMap;
use std::sync::Arc;

use icechunk::Repository;
use icechunk::format::SnapshotId;
use icechunk::format::format_constants::SpecVersionBin;
use icechunk::format::repo_info::RepoInfo;
use icecore_grid::{Error, ErrorKind, Result};

use crate::error;
use crate::open::repo_state::RepoState;
use crate::versions::{revision, time};

/// Branches and tags at one moment.
pub(crate) struct Names {
    pub branches: BTreeMap<String, SnapshotId>,
    pub tags: BTreeMap<String, SnapshotId>,
    /// The root object; None in repositories of Icechunk's first format.
    pub info: Option<Arc<RepoInfo>>,
}

/// Reads all names.
pub(crate) async fn all(shared: &RepoState) -> Result<Names> {
    let repository = shared.repository();
    let read = match shared.take_first() {
        Some(info) => of_info(shared, info),
        None if repository.spec_version() >= SpecVersionBin::V2 => {
            let fetched = repository.asset_manager().fetch_repo_info().await;
            fetched.map_err(error::repository).and_then(|(info, _)| of_info(shared, info))
        }
        None => of_refs(&repository).await,
    };
    read.map_err(error::during(&shared.url))
}

fn of_info(shared: &RepoState, info: Arc<RepoInfo>) -> Result<Names> {
    shared.check(&info)?;
    let branches = info.branches().map_err(error::format)?.map(|(name, id)| (name.to_owned(), id)).collect();
    let tags = info.tags().map_err(error::format)?.map(|(name, id)| (name.to_owned(), id)).collect();
    Ok(Names { branches, tags, info: Some(info) })
}

async fn of_refs(repository: &Repository) -> Result<Names> {
    let mut names = Names { branches: BTreeMap::new(), tags: BTreeMap::new(), info: None };
    for name in repository.list_branches().await.map_err(error::repository)? {
        let id = repository.lookup_branch(&name).await.map_err(error::repository)?;
        names.branches.insert(name, id);
    }
    for name in repository.list_tags().await.map_err(error::repository)? {
        let id = repository.lookup_tag(&name).await.map_err(error::repository)?;
        names.tags.insert(name, id);
    }
    Ok(names)
}

/// Validates a new name: it must be unambiguous on a command line and after an `@`.
pub(crate) fn check(name: &str) -> Result<()> {
    let is_bad = name.is_empty()
        || name.starts_with('-')
        || name.contains(['/', '@', '\0'])
        || name.chars().any(char::is_whitespace);
    if is_bad {
        return Err(Error::new(ErrorKind::Invalid, format!("{name:?} is not a valid name for a branch or tag"))
            .hint("use letters, digits, dots, dashes and underscores"));
    }
    if revision::parse(name).is_some() {
        let message =
            format!("{name:?} is not a valid name for a branch or tag: `~`, `^` and `{{…}}` name earlier versions");
        return Err(Error::new(ErrorKind::Invalid, message).hint("use letters, digits, dots, dashes and underscores"));
    }
    if time::parse(name).is_some() {
        let message = format!("{name} is a time: REPO@{name} means the newest commit until then");
        return Err(Error::new(ErrorKind::Invalid, message).hint(format!("choose another name, v{name} for instance")));
    }
    Ok(())
}

/// The names that are most similar to the requested one.
pub(crate) fn nearest<'a>(asked: &str, names: impl Iterator<Item = &'a String>, count: usize) -> Vec<&'a str> {
    let mut ranked: Vec<(usize, &str)> = names.map(|name| (distance(asked, name), name.as_str())).collect();
    ranked.sort_unstable();
    ranked.into_iter().take(count).map(|(_, name)| name).collect()
}

/// Edit distance between two words (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut next = vec![left];
        for (y, up) in b.iter().zip(row.iter().skip(1)) {
            left = (diagonal + usize::from(x != *y)).min(up + 1).min(left + 1);
            diagonal = *up;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_names_come_first() {
        assert_eq!((distance("main", "mian"), distance("", "abc"), distance("kitten", "sitting")), (2, 3, 3));
        let names = ["release", "main", "calibrated"].map(str::to_owned);
        assert_eq!(nearest("mian", names.iter(), 1), ["main"]);
    }

    #[test]
    fn names() {
        assert!(check("v1.0_x-y").is_ok());
        assert!(["", "-x", "a b", "a@b", "a/b", "a~1", "a~", "a^", "{x}"].iter().all(|name| check(name).is_err()));
        assert!(["2024-01-01", "2024-01-01T12:30", "2024-01-01T12:30:00Z"].iter().all(|name| check(name).is_err()));
        assert!(
            ["2024", "2024-01", "20240101", "v2024-01-01", "2024-01-01-run"].iter().all(|name| check(name).is_ok())
        );
    }
}
