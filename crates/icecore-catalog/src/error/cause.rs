//! Convert the errors of object stores and of the operating system, which Icechunk's errors wrap.

use std::error::Error as StdError;
use std::io;

use icecore_grid::{Error, ErrorKind};

use crate::lock_file::LostLock;

pub(super) const VERIFY: &str = "run `icecore verify` on the repository, and bring the damaged file back from a copy";
const KEYS: &str = "check the credentials: of s3 storage={\"access_key_id\": …}, the environment, or {\"anonymous\": \"true\"} for none; of http(s) {\"header.authorization\": …}";
pub(super) const ONLINE: &str = "check the address and the connection";
const RETRY: &str = "read the new version and try again";
/// Hint for servers that ignore byte ranges and send whole files.
pub const NO_RANGES: &str = "this server doesn't send parts of files (Python's http.server doesn't; nginx, Apache and object stores do): use another one, or a copy";

pub(super) fn new(kind: ErrorKind, error: &dyn StdError) -> Error {
    Error::new(kind, causes(error))
}

/// The error and its causes, without the repetitions that transparent wrappers add.
#[must_use]
pub fn causes(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = cause.source();
    }
    text.truncate(text.trim_end_matches([' ', ':']).len()); // some servers send an empty detail
    text
}

pub(super) fn conflict(message: String) -> Error {
    Error::new(ErrorKind::Conflict, message).hint(RETRY)
}

/// Whether a request failed because it found no credentials: stores then ask the metadata service of a cloud machine.
#[must_use]
pub fn lacks_keys(message: &str) -> bool {
    ["//169.254.169.254/", "//169.254.170.2/"].iter().any(|address| message.contains(address))
}

/// Why an object store refuses all requests like this one.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub kind: ErrorKind,
    pub what: &'static str,
    pub hint: String,
}

/// Codes of S3, Google and Azure, the kind of error, what it is, and what to do.
const REFUSALS: [(&[&str], ErrorKind, &str, &str); 6] = [
    (
        &["NoSuchBucket", "The specified bucket does not exist", "ContainerNotFound"],
        ErrorKind::NotFound,
        "the bucket does not exist",
        "check the bucket's name and endpoint_url; icecore does not create buckets",
    ),
    (
        &["PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraint", "configured region"],
        ErrorKind::Invalid,
        "the bucket is in another region",
        "name it: --storage region=",
    ),
    (
        &["InvalidBucketName", "InvalidResourceName"],
        ErrorKind::Invalid,
        "the store does not accept this bucket name",
        "check the bucket's name: lower-case letters, digits and hyphens",
    ),
    (
        &["RequestTimeTooSkewed"],
        ErrorKind::Permission,
        "the store refuses the time",
        "this machine's clock is wrong: correct it",
    ),
    (
        &["ExpiredToken", "TokenRefreshRequired", "InvalidToken"],
        ErrorKind::Permission,
        "the credentials have expired",
        "the credentials have expired: get new ones, or give a function that does: storage={\"credentials\": …}",
    ),
    (
        &["InvalidAccessKeyId", "SignatureDoesNotMatch", "AuthenticationFailed"],
        ErrorKind::Permission,
        "the store does not accept the credentials",
        KEYS,
    ),
];

/// The reason in the text of an object store's error; `None` for other errors.
#[must_use]
pub fn refusal(message: &str) -> Option<Refusal> {
    let found = REFUSALS.iter().find(|(codes, ..)| codes.iter().any(|code| message.contains(*code)))?;
    let (_, kind, what, hint) = *found;
    let region = message.split_once("<Region>").and_then(|(_, rest)| Some(rest.split_once("</Region>")?.0));
    let hint = match hint.strip_suffix('=') {
        Some(option) => format!("{option}={}", region.unwrap_or("REGION")),
        None => hint.to_owned(),
    };
    Some(Refusal { kind, what, hint })
}

/// Whether an object store refused the credentials of a request.
pub(crate) fn is_refused(error: &object_store::Error) -> bool {
    use object_store::Error as E;
    matches!(error, E::PermissionDenied { .. } | E::Unauthenticated { .. })
        || refusal(&causes(error)).is_some_and(|refusal| refusal.kind == ErrorKind::Permission)
}

/// Whether a web server answered 410 Gone, which object_store does not treat like 404.
#[must_use]
pub fn is_gone(message: &str) -> bool {
    message.contains("status code: 410 Gone")
}

/// The message of an object store or of the operating system; None if the error has neither as its cause.
pub(crate) fn object_store(error: &(dyn StdError + 'static)) -> Option<Error> {
    if lacks_keys(&causes(error)) {
        return Some(
            Error::new(ErrorKind::Permission, "no credentials found, neither in the options nor in the environment")
                .hint(KEYS),
        );
    }
    if let Some(refusal) = refusal(&causes(error)) {
        let message = format!("{}: {}", refusal.what, causes(error));
        return Some(Error::new(refusal.kind, message).hint(refusal.hint));
    }
    let (mut cause, mut far) = (Some(error), None);
    while let Some(error) = cause {
        match error.downcast_ref::<object_store::Error>() {
            Some(e @ object_store::Error::NotFound { .. }) => return Some(new(ErrorKind::Corrupt, e).hint(VERIFY)),
            Some(e) if is_gone(&causes(e)) => return Some(new(ErrorKind::Corrupt, e).hint(VERIFY)),
            Some(e @ (object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. })) => {
                return Some(new(ErrorKind::Permission, e).hint(KEYS));
            }
            Some(e @ (object_store::Error::Precondition { .. } | object_store::Error::AlreadyExists { .. })) => {
                return Some(conflict(causes(e)));
            }
            Some(e @ object_store::Error::Generic { store: "LocalFileSystem", source })
                if root_io(source.as_ref()).is_none() =>
            {
                return Some(corrupt(e)); // a byte range outside the file
            }
            Some(e @ object_store::Error::NotSupported { .. }) => {
                return Some(new(ErrorKind::Network, e).hint(NO_RANGES));
            }
            Some(e) if far.is_none() => far = Some(e),
            _ => {}
        }
        if let Some(error) = error.downcast_ref::<io::Error>() {
            if error.get_ref().is_some_and(|inner| inner.is::<LostLock>()) {
                return Some(conflict(error.to_string()));
            }
            let is_file = matches!(far, Some(object_store::Error::Generic { store: "LocalFileSystem", .. }));
            if !(is_file || error.raw_os_error().is_some() && !is_network(error)) {
                return Some(new(ErrorKind::Network, error).hint(ONLINE));
            }
            let mut found = io(error);
            if let Some(named) = far.and_then(StdError::source) {
                found.message = causes(named); // with the path
            }
            return Some(found);
        }
        cause = error.source();
    }
    far.map(|e| new(ErrorKind::Network, e).hint(ONLINE)) // an invalid answer of a server
}

/// The operating system's error at the root of another error.
pub(crate) fn root_io<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a io::Error> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref::<io::Error>() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}

fn is_network(error: &io::Error) -> bool {
    use io::ErrorKind as K;
    matches!(
        error.kind(),
        K::ConnectionRefused
            | K::ConnectionReset
            | K::ConnectionAborted
            | K::NotConnected
            | K::TimedOut
            | K::HostUnreachable
            | K::NetworkUnreachable
    )
}

/// Whether the limit of open files is reached, of the process or of the system (EMFILE, ENFILE), on all Unix systems.
pub(crate) const ENFILE: i32 = 23;
pub(crate) const EMFILE: i32 = 24;

/// An error of the operating system.
pub(crate) fn io(error: &io::Error) -> Error {
    let (kind, hint) = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            (ErrorKind::Permission, "check the permissions of the repository's files")
        }
        io::ErrorKind::StorageFull => {
            (ErrorKind::Io, "free some space: the repository is as it was at its last commit")
        }
        io::ErrorKind::QuotaExceeded => {
            (ErrorKind::Io, "free some of your quota: the repository is as it was at its last commit")
        }
        io::ErrorKind::FileTooLarge => (
            ErrorKind::Io,
            "raise the limit on the size of files (`ulimit -f`), or write to another file system: the repository is as it was at its last commit",
        ),
        _ if is_network(error) => (ErrorKind::Network, ONLINE),
        _ if matches!(error.raw_os_error(), Some(ENFILE | EMFILE)) => (
            ErrorKind::Io,
            "close some, or raise the limit (`ulimit -n`): the repository is as it was at its last commit",
        ),
        _ => (ErrorKind::Io, "check that the path exists and can be written"),
    };
    Error::new(kind, error.to_string()).hint(hint)
}

/// An I/O error during the decoding of a file: the system's own, a store's, or otherwise a damaged file.
pub(crate) fn decoding(error: io::Error) -> Error {
    if error.raw_os_error().is_some() {
        return io(&error);
    }
    match error.get_ref().and_then(|inner| object_store(inner).or_else(|| inner.source().and_then(object_store))) {
        Some(error) => error,
        None => corrupt(&error),
    }
}

/// A damaged file of the repository.
pub(super) fn corrupt(error: &dyn StdError) -> Error {
    new(ErrorKind::Corrupt, error).hint(VERIFY)
}

/// A damaged file of the repository, with our own description.
pub(crate) fn damaged(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, message).hint(VERIFY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_an_io_error_and_a_missing_right_is_permission() {
        assert_eq!(io(&io::Error::from(io::ErrorKind::StorageFull)).kind, ErrorKind::Io);
        assert_eq!(io(&io::Error::from(io::ErrorKind::PermissionDenied)).kind, ErrorKind::Permission);
        assert_eq!(io(&io::Error::from(io::ErrorKind::ConnectionRefused)).kind, ErrorKind::Network);
        let hint = io(&io::Error::from_raw_os_error(EMFILE)).hint;
        assert!(hint.contains("ulimit -n"), "{hint}");
    }

    #[test]
    fn an_error_while_unpacking_is_corruption_unless_the_system_said_so() {
        assert_eq!(decoding(io::Error::other("bad frame")).kind, ErrorKind::Corrupt);
        assert_eq!(decoding(io::Error::from_raw_os_error(5)).kind, ErrorKind::Io);
        let denied = object_store::Error::PermissionDenied { path: "x".into(), source: "no".into() };
        assert_eq!(decoding(io::Error::other(denied)).kind, ErrorKind::Permission);
        let answer = object_store::Error::Generic { store: "HTTP", source: "Requested 0..9, got 0..4".into() };
        assert_eq!(decoding(io::Error::other(answer)).kind, ErrorKind::Network);
    }

    #[test]
    fn refusals_have_one_kind_and_one_hint() {
        let of = |text: &str| refusal(text).map(|refusal| (refusal.kind, refusal.hint));
        assert_eq!(of("404: <Code>NoSuchBucket</Code>").unwrap().0, ErrorKind::NotFound);
        let (kind, hint) = of("<Code>AuthorizationHeaderMalformed</Code><Region>eu-west-3</Region>").unwrap();
        assert!(kind == ErrorKind::Invalid && hint.ends_with("region=eu-west-3"), "{hint}");
        assert!(of("<Code>PermanentRedirect</Code>").unwrap().1.ends_with("region=REGION"));
        assert_eq!(of("<Code>SignatureDoesNotMatch</Code>").unwrap().0, ErrorKind::Permission);
        assert_eq!(of("<Code>NoSuchKey</Code>"), None);
    }

    #[test]
    fn keys_that_nobody_gave() {
        let asked = "Error performing PUT http://169.254.169.254/latest/api/token in 1ms: no route to host";
        let error = object_store::Error::Generic { store: "S3", source: asked.into() };
        assert_eq!(object_store(&error).map(|e| e.kind), Some(ErrorKind::Permission));
        assert!(!lacks_keys("connection to 169.254.169.1 refused"));
    }
}
