//! Exclusion of writers on file systems without locks (Lustre without `flock`, some NFS and FUSE mounts): a file that
//! appears atomically and names its holder. The holder renews it; others remove it when its holder is gone.

use std::collections::HashMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rand::RngExt;

use crate::process::{PerProcess, own_numbers};

/// The lock file in the repository's directory; Icechunk ignores it.
pub(crate) const FILE: &str = ".icecore.lock";
/// Suffixes of the lock file's name.
const HOLDER: &str = ".holder";
const REMOVING: &str = ".removing";
/// Interval at which a holder changes its file.
const RENEWAL: Duration = Duration::from_secs(10);
/// A file that did not change for this long has no holder: its process or machine is gone, or it was stopped.
const STALE: Duration = Duration::from_secs(60);

/// Whether the system says that this file system has no locks.
pub(crate) fn is_unsupported(error: &io::Error) -> bool {
    // ENOSYS, ENOLCK, EOPNOTSUPP (and ENOTSUP where it differs) of Linux, then of macOS and the BSDs
    let numbers: [i32; 3] = if cfg!(target_os = "linux") { [38, 37, 95] } else { [78, 77, 102] };
    error.kind() == ErrorKind::Unsupported || error.raw_os_error().is_some_and(|number| numbers.contains(&number))
}

/// Whether a file system has no hard links (FAT, FUSE mounts of buckets).
pub(crate) fn lacks_links(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied)
}

/// Another writer took over the lock of this process, which was stopped for longer than [`STALE`].
#[derive(Debug)]
pub(crate) struct LostLock;

impl fmt::Display for LostLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this process was stopped for more than {} s, and another writer took over its lock", STALE.as_secs())
    }
}

impl std::error::Error for LostLock {}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The claims of this process: directory → content that identifies the holder.
fn held() -> MutexGuard<'static, HashMap<PathBuf, String>> {
    static HELD: PerProcess<Mutex<HashMap<PathBuf, String>>> = PerProcess::new();
    lock(HELD.get_or(|_| Mutex::default()))
}

/// Checks that a claim of this process on the directory is still its own; without a claim there is nothing to check.
pub(crate) fn confirm(folder: &Path) -> io::Result<()> {
    let Some(own) = held().get(folder).cloned() else { return Ok(()) };
    let file = folder.join(format!("{FILE}{HOLDER}"));
    match std::fs::read_to_string(file) {
        Ok(found) if found.starts_with(&own) => Ok(()),
        _ => Err(io::Error::other(LostLock)),
    }
}

/// A claimed directory; released on drop.
pub(crate) struct Claim {
    folder: PathBuf,
    path: PathBuf,
    process: u32,
    is_done: Arc<(Mutex<bool>, Condvar)>,
    renewal: Option<JoinHandle<()>>,
}

impl Claim {
    fn new(folder: PathBuf, path: PathBuf, own: String, mut file: File) -> io::Result<Self> {
        held().insert(folder.clone(), own.clone());
        let is_done: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        let (done, text) = (Arc::clone(&is_done), own);
        let renew = move || {
            for count in 1.. {
                let (guard, _) = done
                    .1
                    .wait_timeout_while(lock(&done.0), RENEWAL, |done| !*done)
                    .unwrap_or_else(PoisonError::into_inner);
                if *guard {
                    return;
                }
                drop(guard);
                // Through the open file: the name may belong to another writer by now.
                let _others_notice = file
                    .seek(SeekFrom::Start(0))
                    .and_then(|_| file.write_all(content(&text, count).as_bytes()))
                    .and_then(|()| file.sync_data());
            }
        };
        let renewal = std::thread::Builder::new().name("icecore-lock".to_owned()).spawn(renew)?;
        Ok(Self { folder, path, process: std::process::id(), is_done, renewal: Some(renewal) })
    }
}

impl Claim {
    /// See [`confirm`].
    pub fn confirm(&self) -> io::Result<()> {
        confirm(&self.folder)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return; // a forked child: the claim is its parent's
        }
        *lock(&self.is_done.0) = true;
        self.is_done.1.notify_all();
        let _it_ended = self.renewal.take().map(JoinHandle::join);
        let is_own = confirm(&self.folder).is_ok();
        held().remove(&self.folder);
        if is_own {
            let _it_goes_stale = std::fs::remove_file(&self.path);
        }
    }
}

/// What a waiting writer has seen of the files that keep it waiting, and since when.
#[derive(Default)]
pub(crate) struct Watch {
    holder: Option<(String, Instant)>,
    removal: Option<Instant>,
}

impl Watch {
    /// Claims the directory of the lock file `path`; `None` if another writer has it.
    ///
    /// # Errors
    /// Errors of the operating system; `Unsupported` if no file can be created exclusively.
    pub fn claim(&mut self, path: &Path) -> io::Result<Option<Claim>> {
        let holder = with(path, HOLDER);
        if holder.exists() {
            self.look(path, &holder)?;
            return Ok(None);
        }
        let own = identity();
        match create(&holder, &own) {
            Ok(file) => {
                let folder = path.parent().map_or_else(|| Ok(PathBuf::new()), std::fs::canonicalize)?;
                note_once(path);
                Claim::new(folder, holder, own, file).map(Some)
            }
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Removes the holder's file if its holder is gone.
    fn look(&mut self, path: &Path, holder: &Path) -> io::Result<()> {
        let Some(found) = read(holder)? else {
            self.holder = None;
            return Ok(());
        };
        if self.holder.as_ref().is_none_or(|(seen, _)| *seen != found) {
            self.holder = Some((found.clone(), Instant::now()));
        }
        let since = self.holder.as_ref().map_or(Duration::ZERO, |(_, since)| since.elapsed());
        if since < STALE && !is_dead(&found) {
            return Ok(());
        }
        // One at a time: a second remover could otherwise remove the file of the next holder.
        let removing = with(path, REMOVING);
        match OpenOptions::new().write(true).create_new(true).open(&removing) {
            Ok(_) => {
                let unchanged = read(holder).map(|now| now.as_deref() == Some(&found));
                let done = if unchanged? { std::fs::remove_file(holder) } else { Ok(()) };
                let _others_wait = std::fs::remove_file(&removing);
                done
            }
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                if self.removal.get_or_insert_with(Instant::now).elapsed() > STALE {
                    self.removal = None;
                    let _another_did = std::fs::remove_file(&removing);
                }
                Ok(())
            }
            Err(e) => Err(e),
        }
    }
}

fn with(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn read(path: &Path) -> io::Result<Option<String>> {
    let mut text = String::new();
    match File::open(path).and_then(|mut file| file.read_to_string(&mut text)) {
        Ok(_) => Ok(Some(text)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// Creates the holder's file with its content, or fails with `AlreadyExists`. A link is atomic on all network file
/// systems; a file system without links must create files exclusively.
fn create(holder: &Path, own: &str) -> io::Result<File> {
    let temporary = with(holder, &format!("#{}", rand::rng().random::<u64>()));
    let made = prepare(&temporary, own).and_then(|file| match std::fs::hard_link(&temporary, holder) {
        Ok(()) => Ok(file),
        // NFS may report a link that was made as an error, if the answer was lost.
        Err(e) if e.kind() == ErrorKind::AlreadyExists && is_linked(&temporary) => Ok(file),
        Err(e) if lacks_links(&e) || is_unsupported(&e) => prepare(holder, own),
        Err(e) => Err(e),
    });
    let _there_may_be_none = std::fs::remove_file(&temporary);
    made
}

fn prepare(path: &Path, own: &str) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(content(own, 0).as_bytes())?;
    file.sync_data()?;
    Ok(file)
}

#[cfg(unix)]
fn is_linked(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.nlink() > 1)
}

#[cfg(not(unix))]
fn is_linked(_: &Path) -> bool {
    false
}

/// The holder's lines, and a count of constant width.
fn content(own: &str, count: u64) -> String {
    format!("{own}renewed {count:020}\n")
}

/// Names this process: its host, the running system on it, its number and start, and a random number.
fn identity() -> String {
    own_numbers();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    format!(
        "host {}\nsystem {}\nprocess {}\nstarted {}\nsince {now}\ntoken {:016x}\n",
        host(),
        system(),
        std::process::id(),
        started(std::process::id()).unwrap_or_default(),
        rand::rng().random::<u64>(),
    )
}

fn host() -> String {
    let named = std::fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| std::env::var("HOSTNAME").ok());
    named.map_or_else(|| "unknown".to_owned(), |name| name.trim().to_owned())
}

/// The boot and the namespace in which a process's number means this process; empty if they are unknown.
fn system() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = std::fs::read_link("/proc/self/ns/pid").map(|link| link.display().to_string()).unwrap_or_default();
    if boot.is_empty() || space.is_empty() { String::new() } else { format!("{} {space}", boot.trim()) }
}

/// When a process of this system started, in the kernel's ticks.
fn started(process: u32) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in brackets, may contain blanks.
    status.rsplit_once(')')?.1.split_whitespace().nth(19).map(str::to_owned)
}

/// Whether the holder was a process of this system that is gone. Of other systems only the time says.
fn is_dead(found: &str) -> bool {
    let field = |name: &str| found.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let here = system();
    if here.is_empty() || field("system") != Some(here.as_str()) {
        return false;
    }
    let Some(process) = field("process").and_then(|text| text.parse::<u32>().ok()) else { return false };
    match started(process) {
        Some(start) => field("started").is_some_and(|then| !then.is_empty() && then != start),
        // Processes of other users may be hidden; the own one never is.
        None => std::fs::metadata(format!("/proc/{}", std::process::id())).is_ok() && !exists(process),
    }
}

#[cfg(unix)]
fn exists(process: u32) -> bool {
    unsafe extern "C" {
        fn kill(process: std::ffi::c_int, signal: std::ffi::c_int) -> std::ffi::c_int;
    }
    const NO_SUCH_PROCESS: i32 = 3;
    let Ok(process) = std::ffi::c_int::try_from(process) else { return true };
    // SAFETY: signal 0 only asks whether the process exists.
    let answer = unsafe { kill(process, 0) };
    answer == 0 || io::Error::last_os_error().raw_os_error() != Some(NO_SUCH_PROCESS)
}

#[cfg(not(unix))]
fn exists(_: u32) -> bool {
    true
}

/// Reports once in a process that locks are replaced.
fn note_once(path: &Path) {
    static NOTED: Once = Once::new();
    NOTED.call_once(|| {
        let folder = path.parent().unwrap_or(path);
        eprintln!(
            "icecore: note: {} ({}) has no file locks: writers exclude each other with the file {}{HOLDER}",
            folder.display(),
            file_system(folder),
            FILE
        );
    });
}

/// The type of the file system of a directory, and where it is mounted.
pub(crate) fn file_system(folder: &Path) -> String {
    let place = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let of = |line: &str| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?.replace("\\040", " "), words.next()?.to_owned()))
    };
    let found = mounts.lines().filter_map(of).filter(|(point, _)| place.starts_with(point));
    match found.max_by_key(|(point, _)| point.len()) {
        Some((point, kind)) => format!("{kind} at {point}"),
        None => "its file system".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_folder() -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(FILE);
        (home, path)
    }

    #[test]
    fn one_claim_at_a_time() {
        let (home, path) = in_folder();
        let mut watch = Watch::default();
        let claim = watch.claim(&path).unwrap().unwrap();
        assert!(watch.claim(&path).unwrap().is_none());
        assert!(confirm(&home.path().canonicalize().unwrap()).is_ok());
        drop(claim);
        assert_eq!(home.path().read_dir().unwrap().count(), 0);
        assert!(watch.claim(&path).unwrap().is_some());
    }

    #[test]
    fn a_claim_of_a_process_that_is_gone_is_removed() {
        let (_home, path) = in_folder();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let gone = format!("host h\nsystem {}\nprocess {}\nstarted 1\ntoken 0\n", system(), child.id());
        std::fs::write(with(&path, HOLDER), content(&gone, 0)).unwrap();
        let mut watch = Watch::default();
        assert!(watch.claim(&path).unwrap().is_none(), "removed at the first look");
        assert!(watch.claim(&path).unwrap().is_some());
    }

    #[test]
    fn a_claim_of_another_machine_is_removed_only_after_a_minute_without_renewal() {
        let (_home, path) = in_folder();
        let holder = with(&path, HOLDER);
        std::fs::write(&holder, content("host far\nsystem other\nprocess 1\nstarted 1\ntoken 0\n", 0)).unwrap();
        let mut watch = Watch::default();
        assert!(watch.claim(&path).unwrap().is_none());
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
        watch.holder.as_mut().unwrap().1 = ago(59);
        assert!(watch.claim(&path).unwrap().is_none() && holder.exists());
        std::fs::write(&holder, content("host far\nsystem other\nprocess 1\nstarted 1\ntoken 0\n", 1)).unwrap();
        watch.holder.as_mut().unwrap().1 = ago(61);
        assert!(watch.claim(&path).unwrap().is_none() && holder.exists(), "it was renewed");
        watch.holder.as_mut().unwrap().1 = ago(61);
        assert!(watch.claim(&path).unwrap().is_none() && !holder.exists());
        assert!(watch.claim(&path).unwrap().is_some());
    }

    #[test]
    fn a_claim_that_was_taken_over_is_noticed_and_not_removed() {
        let (home, path) = in_folder();
        let claim = Watch::default().claim(&path).unwrap().unwrap();
        let holder = with(&path, HOLDER);
        std::fs::remove_file(&holder).unwrap();
        std::fs::write(&holder, content("host far\n", 0)).unwrap();
        let lost = confirm(&home.path().canonicalize().unwrap()).unwrap_err();
        assert!(lost.get_ref().is_some_and(|inner| inner.is::<LostLock>()));
        drop(claim);
        assert!(holder.exists());
    }

    #[test]
    fn this_process_is_alive() {
        assert!(!is_dead(&identity()));
    }
}
