//! Create and open repositories.

pub(crate) mod backups;
pub(crate) mod handle;
pub(crate) mod incomplete_repo;
pub(crate) mod load;
pub(crate) mod lock;
pub(crate) mod object;
pub(crate) mod precheck;
pub(crate) mod recent_versions;
pub(crate) mod repo_state;
pub(crate) mod root;
pub(crate) mod snapshot;
pub(crate) mod updates;
pub(crate) mod writer;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use icechunk::Repository;
use icechunk::format::repo_info::RepoInfo;
use icechunk::format::snapshot::Snapshot;
use icechunk::repository::{DetectedSpecVersion, RepositoryErrorKind};
use icecore_grid::{Error, ErrorKind, Result};
use object_store::path::Path as ObjectPath;

use crate::open::lock::{Held, Lock};
use crate::open::repo_state::{Opened, RepoState};
use crate::stores::flags::{Options, options_for};
use crate::stores::options::{self, SharedBackend};
use crate::stores::storage::{Root, Storage};
use crate::stores::{bucket, cloud, containers, prefix, unsynced};
use crate::{error, frame, seal};

/// Long enough for a commit of millions of references.
const LOCK_SECONDS: u64 = 300;
const SHOWN: usize = 5;
/// Maximum number of attempts to create a directory that other processes remove in the meantime.
const ATTEMPTS: usize = 20;

/// Creates a new, empty repository.
pub(crate) async fn create(storage: &Storage) -> Result<RepoState> {
    let root = Root::parse(&storage.url)?;
    if let Root::Http(url) = &root {
        return Err(Error::new(ErrorKind::ReadOnly, format!("{url}: repositories on http(s) can only be read"))
            .hint("create it in a directory or on s3://"));
    }
    let lock = lock_of(&root, &storage.options)?;
    let backend = options::backend(&root, &storage.options).await?;
    let held = hold_new(&root, &lock, options::is_durable(&storage.options)?)?;
    // The lock file is already in the directory, so our check for an empty directory replaces Icechunk's.
    vacant(&root, &backend).await?;
    check_store(&root, &storage.options).await?;
    let is_checked = !matches!(root, Root::Local(_));
    let created = Repository::create(Arc::clone(&backend)).check_clean_root(is_checked).execute().await;
    let created = created.map_err(error::repository).map_err(error::during(root.url()))?;
    if let Root::Local(path) = &root
        && let Ok(first) = created.asset_manager().fetch_snapshot(&Snapshot::INITIAL_SNAPSHOT_ID).await
    {
        let _unsealed_is_valid = seal::write(path, &first, None);
    }
    root::seal(&root, &created).await;
    drop(held);
    open_at(root, storage, lock, backend).await
}

/// Rejects a bucket that two writers can't share, unless there is one.
pub(crate) async fn check_store(root: &Root, options: &Options) -> Result<()> {
    match root {
        Root::Bucket { base, prefix } if !options::is_single_writer(options, &root.url())? => {
            bucket::check(base, prefix, &options_for(options, &root.url())).await
        }
        _ => Ok(()),
    }
}

/// Creates the directory and locks it; if it can't be locked, nothing that was created stays. A process that removes a
/// repository there at the same time may remove the directory too.
pub(crate) fn hold_new(root: &Root, lock: &Lock, is_durable: bool) -> Result<Held> {
    let Root::Local(path) = root else { return lock.hold() };
    let failed = |e: std::io::Error| error::during(format!("cannot create {}", path.display()))(error::io(&e));
    let existing = path.ancestors().find(|folder| folder.exists()).unwrap_or(path).to_owned();
    let had_lock = path.join(lock::FILE).exists();
    let mut attempt = 0;
    loop {
        attempt += 1;
        std::fs::create_dir_all(path).map_err(failed)?;
        match lock.hold() {
            Err(e) if e.kind == ErrorKind::NotFound && attempt < ATTEMPTS => lock.forget(),
            Err(e) if !had_lock && e.kind != ErrorKind::Conflict => {
                let _others_may_use_it = std::fs::remove_file(path.join(lock::FILE));
                let made = path.ancestors().take_while(|folder| *folder != existing);
                let _all_that_are_empty = made.map(std::fs::remove_dir).take_while(std::result::Result::is_ok).count();
                return Err(e);
            }
            done => {
                if is_durable {
                    unsynced::sync_new_folder(path, &existing).map_err(failed)?;
                }
                return done;
            }
        }
    }
}

/// Opens an existing repository.
pub(crate) async fn open(storage: &Storage) -> Result<RepoState> {
    let root = Root::parse(&storage.url)?;
    if let Root::Local(path) = &root {
        must_hold_repository(path)?;
    }
    let lock = lock_of(&root, &storage.options)?;
    let backend = options::backend(&root, &storage.options).await?;
    open_at(root, storage, lock, backend).await
}

async fn open_at(root: Root, storage: &Storage, lock: Lock, backend: SharedBackend) -> Result<RepoState> {
    let during = root.url();
    if let Root::Local(path) = &root {
        frame::check_file(&path.join("repo"))?;
    }
    let open = Repository::open(Arc::clone(&backend)).config(options::config(&root, &storage.options)?).execute();
    let detect = Repository::fetch_spec_version(backend, None);
    let mut checked = None;
    let (repository, first) = if root.is_remote() {
        // The root object is fetched twice, concurrently: the second copy serves the first look-up.
        let (repository, first) = futures::join!(open, detect);
        (repository, first.ok().flatten().and_then(info))
    } else {
        if let Some(info) = detect.await.map_err(|e| missing(&during, e))?.and_then(info) {
            root::check(&root, &info).map_err(error::during(&during))?;
            checked = Some(info);
        }
        (open.await, None)
    };
    let repository = match repository {
        Ok(repository) => repository,
        Err(e) => return Err(without_bucket(&root, storage, missing(&during, e)).await),
    };
    let recorded = containers::configured(&repository);
    let prefixes = match &storage.allow_links {
        Some(list) => list.iter().map(|given| prefix::given(given)).collect::<Result<_>>()?,
        None => containers::default_prefixes(&recorded, root.is_remote()),
    };
    let access = containers::access(recorded.clone(), &storage.options, prefixes)?;
    let repository =
        repository.reopen(Some(access.config), Some(access.credentials)).await.map_err(error::repository)?;
    let is_restricted = storage.allow_links.is_some();
    let opened = Opened { repository: Arc::new(repository), prefixes: access.prefixes, recorded };
    Ok(RepoState::new(root, storage.options.clone(), lock, is_restricted, opened, first, checked))
}

fn info(detected: DetectedSpecVersion) -> Option<Arc<RepoInfo>> {
    match detected {
        DetectedSpecVersion::V2Plus { repo_info, .. } => Some(repo_info),
        DetectedSpecVersion::V1 => None,
    }
}

fn missing(url: &str, e: icechunk::repository::RepositoryError) -> Error {
    match e.kind {
        RepositoryErrorKind::RepositoryDoesntExist => none_at(url, "there is no repository"),
        _ => match error::repository(e) {
            error if error::is_gone(&error.message) => none_at(url, "the repository was removed (410 Gone)"),
            error => error::during(url)(error),
        },
    }
}

/// Whether a repository is missing because its bucket is: then only a listing says so.
async fn without_bucket(root: &Root, storage: &Storage, error: Error) -> Error {
    let Root::Bucket { base, prefix } = root else { return error };
    if error.kind != ErrorKind::NotFound {
        return error;
    }
    let Ok(store) = cloud::cloud_store(base, &options_for(&storage.options, &root.url())) else { return error };
    let found = match ObjectPath::parse(prefix) {
        Ok(prefix) => store.list(Some(&prefix)).next().await,
        Err(_) => return error,
    };
    match found {
        Some(Err(e)) if error::refusal(&error::causes(&e)).is_some() => {
            error::object_store(&e).map_or(error, error::during(root.url()))
        }
        _ => error,
    }
}

fn none_at(url: &str, what: &str) -> Error {
    let longer = format!("{}.icecore", url.trim_end_matches('/'));
    let hint = if is_repository(Path::new(&longer)) {
        format!("did you mean {longer}?")
    } else if url.starts_with("http") && url.contains("://") {
        "check the address: it must be the directory that contains the repository's file `repo`".to_owned()
    } else {
        let url = shell_quote(url);
        format!("make one: icecore link FILES --into {url}, or icecore pack FILES --into {url}")
    };
    Error::new(ErrorKind::NotFound, format!("{url}: {what}")).hint(hint)
}

pub(crate) fn lock_of(root: &Root, options: &Options) -> Result<Lock> {
    let seconds = match options.get(options::LOCK_TIMEOUT) {
        None => LOCK_SECONDS,
        Some(text) => text.parse().map_err(|_| {
            Error::new(ErrorKind::Invalid, format!("{}={text:?} is not a number of seconds", options::LOCK_TIMEOUT))
                .hint(format!("a whole number: --storage {}=30", options::LOCK_TIMEOUT))
        })?,
    };
    let timeout = Duration::from_secs(seconds);
    Ok(match root {
        Root::Local(path) => Lock::in_folder(path, timeout),
        Root::Memory(name) => Lock::Process { held: lock::of_process(name), timeout },
        Root::Http(_) | Root::Bucket { .. } => Lock::None,
    })
}

/// Rejects a location that is not empty.
pub(crate) async fn vacant(root: &Root, backend: &SharedBackend) -> Result<()> {
    let url = root.url();
    let exists = || {
        Error::new(ErrorKind::Exists, format!("{url} is a repository already")).hint("open it, or choose another name")
    };
    let found = match root {
        Root::Local(path) if incomplete_repo::is_incomplete_repo(path) => Vec::new(),
        Root::Local(path) => contents(path)?,
        _ => Vec::new(),
    };
    if found.iter().any(|name| is_root(name))
        || Repository::exists(Arc::clone(backend), None).await.map_err(error::repository)?
    {
        return Err(exists());
    }
    if !found.is_empty() {
        let message = format!("{url} is not empty: it holds {}", list(&found));
        return Err(
            Error::new(ErrorKind::Exists, message).hint("a repository needs an empty directory: choose another name")
        );
    }
    Ok(())
}

/// Describes the contents of a location that is not a repository.
fn must_hold_repository(path: &Path) -> Result<()> {
    let url = path.display().to_string();
    match std::fs::metadata(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Err(none_at(&url, "the path does not exist"));
        }
        Err(e) => return Err(error::during(format!("cannot open {url}"))(error::io(&e))),
        Ok(metadata) if !metadata.is_dir() => {
            let message = format!("{url} is a file of {} bytes, not a repository", metadata.len());
            return Err(Error::new(ErrorKind::Format, message)
                .hint(format!("link it into one: icecore link {} --into NAME.icecore", shell_quote(&url))));
        }
        Ok(_) => {}
    }
    // Checked before the listing: the root object is created last, so a later listing contains it.
    let is_begun = incomplete_repo::is_begun(path);
    let found = contents(path)?;
    if found.iter().any(|name| is_root(name)) {
        return Ok(());
    }
    if found.iter().any(|name| name == incomplete_repo::MARKER) {
        let message = format!("{url}: a copy of another repository is being made, or was interrupted");
        return Err(Error::new(ErrorKind::NotFound, message)
            .hint(format!("run the same command again to continue it: icecore clone SOURCE {}", shell_quote(&url))));
    }
    if is_begun {
        let message = format!("{url}: the repository is being created, or its creation was interrupted");
        return Err(Error::new(ErrorKind::NotFound, message)
            .hint("open it again in a moment; if no process is creating it, create it again at the same place"));
    }
    if found.is_empty() {
        return Err(none_at(&url, "the directory is empty"));
    }
    // Both are required: data directories also use one of these names.
    if ["snapshots", "transactions"].iter().all(|part| found.iter().any(|name| name == part)) {
        let message = format!("{url} is a repository without its file `repo`, which names all versions");
        return Err(Error::new(ErrorKind::Format, message).hint("bring that file from where this copy was made"));
    }
    let is_zarr = found.iter().any(|name| matches!(name.as_str(), "zarr.json" | ".zgroup" | ".zarray" | ".zmetadata"));
    let what = if is_zarr { "a plain Zarr hierarchy" } else { "no repository" };
    let message = format!("{url} holds {what}: {}", list(&found));
    Err(Error::new(ErrorKind::Format, message)
        .hint(format!("put its data into a repository: icecore pack {} --into NAME.icecore", shell_quote(&url))))
}

/// A directory with one of these entries is a repository: the root object, or the references of Icechunk's first
/// format.
const ROOTS: [&str; 2] = ["repo", "refs"];

fn is_root(name: &str) -> bool {
    ROOTS.contains(&name)
}

/// Whether the directory holds a repository.
pub(crate) fn is_repository(folder: &Path) -> bool {
    ROOTS.iter().any(|name| folder.join(name).exists())
}

/// The entries of a directory, except our lock files and the remains of interrupted writes.
fn contents(path: &Path) -> Result<Vec<String>> {
    let failed = |e: std::io::Error| error::during(format!("cannot list {}", path.display()))(error::io(&e));
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if !lock::is_lock(&name) {
            names.push(PathBuf::from(name).display().to_string());
        }
    }
    names.sort();
    Ok(names)
}

fn list(names: &[String]) -> String {
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{shown} and {} more", names.len() - SHOWN) } else { shown }
}

/// `word`, quoted if a shell would split or expand it.
fn shell_quote(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', r#"'"'"'"#)))
}

#[cfg(test)]
mod tests {
    use super::shell_quote;

    #[test]
    fn a_shell_takes_it_as_one_word() {
        for word in ["a b", "it's", "$(x)", "", "ü", "https://h/a.icecore@v1"] {
            let said =
                std::process::Command::new("sh").args(["-c", &format!("printf %s {}", shell_quote(word))]).output();
            assert_eq!(said.map(|said| said.stdout).ok(), Some(word.as_bytes().to_vec()), "{word:?}");
        }
        assert_eq!(shell_quote("runs/a.icecore"), "runs/a.icecore");
    }
}
