//! Convert Icechunk's errors to kinds, messages and hints.

use std::fmt::Display;

use chrono::{DateTime, SecondsFormat, Utc};
use icechunk::conflicts::Conflict;
use icechunk::format::manifest::VirtualReferenceErrorKind;
use icechunk::format::{IcechunkFormatError, IcechunkFormatErrorKind};
use icechunk::ops::GCError;
use icechunk::refs::RefErrorKind;
use icechunk::repository::{RepositoryError, RepositoryErrorKind};
use icechunk::session::{SessionError, SessionErrorKind};
use icechunk::storage::{StorageError, StorageErrorKind};
use icechunk::store::{StoreError, StoreErrorKind};
use icecore_grid::{Error, ErrorKind, redact};

mod cause;

pub(crate) use cause::object_store;
pub(crate) use cause::{EMFILE, ENFILE, damaged, decoding, io, is_refused, root_io};
pub use cause::{NO_RANGES, Refusal, causes, is_gone, lacks_keys, refusal};
use cause::{ONLINE, VERIFY, conflict, corrupt, new};

const PANICKED: &str = "a file of the repository is damaged and could not be decoded";
const NAMES: &str = "`icecore branch` and `icecore tag` list the existing names";

/// Prefixes an error's message with the operation.
pub(crate) fn during(what: impl Display) -> impl FnOnce(Error) -> Error {
    move |error| Error { message: redact(&format!("{what}: {}", error.message)).into_owned(), ..error }
}

/// Prefixes an error's message with the repository, unless it names it.
pub(crate) fn at(url: &str) -> impl FnOnce(Error) -> Error + '_ {
    move |error| if error.message.contains(url) { error } else { during(url)(error) }
}

pub(crate) fn repository(error: RepositoryError) -> Error {
    repository_kind(error.kind)
}

pub(crate) fn session(error: SessionError) -> Error {
    session_kind(error.kind)
}

pub(crate) fn storage(error: StorageError) -> Error {
    storage_kind(error.kind)
}

pub(crate) fn format(error: IcechunkFormatError) -> Error {
    format_kind(error.kind)
}

pub(crate) fn store(error: StoreError) -> Error {
    match error.kind {
        StoreErrorKind::SessionError(kind) => session_kind(kind),
        StoreErrorKind::RepositoryError(kind) => repository_kind(kind),
        StoreErrorKind::RefError(kind) => ref_kind(kind),
        StoreErrorKind::ReadOnly => read_only("this view cannot be written to"),
        kind => new(ErrorKind::Invalid, &kind),
    }
}

pub(crate) fn gc(error: GCError) -> Error {
    match error {
        GCError::Repository(error) => repository(error),
        GCError::FormatError(error) => format(error),
        GCError::StorageError(error) => storage(error),
        GCError::Ref(error) => ref_kind(error.kind),
        GCError::DeletesFailing { .. } => {
            new(ErrorKind::Io, &error).hint("check that the repository's files may be deleted")
        }
    }
}

pub(crate) fn read_only(message: &str) -> Error {
    Error::new(ErrorKind::ReadOnly, message)
        .hint("http(s) repositories are read-only: write to a directory or to a bucket")
}

fn repository_kind(kind: RepositoryErrorKind) -> Error {
    use RepositoryErrorKind as K;
    match kind {
        K::StorageError(kind) => storage_kind(kind),
        K::FormatError(kind) => format_kind(kind),
        K::Ref(kind) => ref_kind(kind),
        K::IOError(error) => decoding(error),
        K::ReadonlyStorage(_) | K::ReadonlyRepository(_) => read_only(&kind.to_string()),
        K::Conflict { .. } | K::RepoInfoUpdated | K::ConfigWasUpdated | K::RepoUpdateAttemptsLimit(_) => {
            conflict(kind.to_string())
        }
        K::RepositoryDoesntExist => new(ErrorKind::NotFound, &kind).hint("check the address"),
        K::SnapshotNotFound { .. } | K::InvalidAsOfSpec { .. } => new(ErrorKind::NotFound, &kind),
        K::ParentDirectoryNotClean => new(ErrorKind::Exists, &kind),
        K::CannotDeleteMain => {
            new(ErrorKind::Invalid, &kind).hint("delete another branch: `icecore branch` lists them")
        }
        K::InvalidSnapshotId(_) | K::Tag(_) | K::EmptyPrefixCreation => new(ErrorKind::Invalid, &kind),
        K::BadRepoVersion { .. } => new(ErrorKind::Unsupported, &kind),
        K::SerializationError(_) | K::DeserializationError(_) | K::ConfigDeserializationError(_) => corrupt(&kind),
        K::ConcurrencyError(error) if error.is_panic() => damaged(PANICKED),
        kind => new(ErrorKind::Internal, &kind),
    }
}

fn session_kind(kind: SessionErrorKind) -> Error {
    use SessionErrorKind as K;
    match kind {
        K::RepositoryError(kind) => repository_kind(kind),
        K::StorageError(kind) => storage_kind(kind),
        K::FormatError(kind) => format_kind(kind),
        K::VirtualReferenceError(kind) => link_kind(kind),
        K::RefError(kind) => ref_kind(kind),
        K::ReadOnlySession | K::CommitNotAllowed | K::CannotForkReadOnlySession => read_only(&kind.to_string()),
        K::NodeNotFound { ref path, .. } => Error::new(ErrorKind::NotFound, format!("{path} does not exist")),
        K::NotAnArray { ref node, .. } => {
            Error::new(ErrorKind::Mismatch, format!("{} is a group, not an array", node.path))
        }
        K::NotAGroup { ref node, .. } => {
            Error::new(ErrorKind::Mismatch, format!("{} is an array, not a group", node.path))
        }
        K::AlreadyExists { ref node, .. } => Error::new(ErrorKind::Exists, format!("{} exists already", node.path)),
        K::Conflict { .. } => conflict(kind.to_string()),
        K::RebaseFailed { ref conflicts, .. } => {
            conflict(format!("someone else committed in between: {}", conflicts_text(conflicts)))
        }
        K::SnapshotNotFound { .. } => new(ErrorKind::NotFound, &kind),
        K::InvalidIndex { .. } | K::ZeroLengthChunk { .. } | K::InvalidByteRange { .. } => {
            new(ErrorKind::Invalid, &kind)
        }
        K::InvalidSnapshotTimestampOrdering { parent, child } => ahead(parent, child),
        K::InvalidSnapshotTimestamp { .. } => new(ErrorKind::Invalid, &kind).hint("check this machine's clock"),
        K::BadSnapshotChainForDiff => new(ErrorKind::Invalid, &kind),
        K::ManifestCreationError(error) => session(*error),
        K::ConcurrencyError(error) if error.is_panic() => damaged(PANICKED),
        kind => new(ErrorKind::Internal, &kind),
    }
}

/// The error of a change whose time is not after the last change.
pub(crate) fn ahead(last: DateTime<Utc>, now: DateTime<Utc>) -> Error {
    let shown = |time: DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::Millis, true);
    let message =
        format!("the repository was changed at {}, and this machine's clock says {}", shown(last), shown(now));
    let wait = (last - now).num_seconds() + 1;
    Error::new(ErrorKind::Conflict, message).hint(format!(
        "correct the clocks of all writers, or wait {wait} s, and commit again: the writer keeps its data"
    ))
}

fn conflicts_text(conflicts: &[Conflict]) -> String {
    use Conflict as C;
    let one = |conflict: &Conflict| match conflict {
        C::NewNodeConflictsWithExistingNode(path) => format!("{path} was created by both"),
        C::NewNodeInInvalidGroup(path) => format!("{path} is an array now, nothing can be created inside it"),
        C::ZarrMetadataDoubleUpdate(path) => format!("the metadata of {path} was changed by both"),
        C::ZarrMetadataUpdateOfDeletedArray(path) | C::ZarrMetadataUpdateOfDeletedGroup(path) => {
            format!("{path} was deleted, its metadata changed here")
        }
        C::ChunkDoubleUpdate { path, chunk_coordinates, .. } => {
            let (count, word, verb) = match chunk_coordinates.len() {
                1 => (1, "chunk", "was"),
                many => (many, "chunks", "were"),
            };
            format!("{count} {word} of {path} {verb} written by both")
        }
        C::ChunksUpdatedInDeletedArray { path, .. } => format!("{path} was deleted, its chunks written here"),
        C::ChunksUpdatedInUpdatedArray { path, .. } => {
            format!("the metadata of {path} was changed, its chunks written here")
        }
        C::DeleteOfUpdatedArray { path, .. } | C::DeleteOfUpdatedGroup { path, .. } => {
            format!("{path} was changed, and deleted here")
        }
        C::MoveOperationCannotBeRebased => "nodes were moved".to_owned(),
    };
    conflicts.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn ref_kind(kind: RefErrorKind) -> Error {
    use RefErrorKind as K;
    match kind {
        K::Storage(kind) => storage_kind(kind),
        K::RefNotFound(name) => {
            Error::new(ErrorKind::NotFound, format!("there is no branch or tag {name}")).hint(NAMES)
        }
        K::TagAlreadyExists(name) => Error::new(ErrorKind::Exists, format!("the tag {name} exists already"))
            .hint("tags never move: choose another name"),
        K::InvalidRefName(_) | K::InvalidRefType(_) => new(ErrorKind::Invalid, &kind),
        K::IOError(error) => io(&error),
        K::Serialization(_) => corrupt(&kind),
        K::Conflict { .. } => conflict(kind.to_string()),
    }
}

fn format_kind(kind: IcechunkFormatErrorKind) -> Error {
    use IcechunkFormatErrorKind as K;
    match kind {
        K::VirtualReferenceError(kind) => link_kind(kind),
        K::NodeNotFound { ref path } => Error::new(ErrorKind::NotFound, format!("{path} does not exist")),
        K::SnapshotIdNotFound { .. } | K::BranchNotFound { .. } | K::TagNotFound { .. } => {
            new(ErrorKind::NotFound, &kind).hint(NAMES)
        }
        K::BranchAlreadyExists { .. } | K::TagAlreadyExists { .. } | K::DuplicateSnapshotId { .. } => {
            new(ErrorKind::Exists, &kind)
        }
        K::TagPreviouslyDeleted { tag } => Error::new(
            ErrorKind::Exists,
            format!("a tag {tag} existed and was deleted; Icechunk never reuses the name"),
        )
        .hint("choose another name"),
        K::InvalidSpecVersion { .. } | K::UnsupportedOperationForVersion { .. } | K::FeatureFlagDisabled { .. } => {
            new(ErrorKind::Unsupported, &kind)
        }
        K::InvalidUpdateTimestamp { latest_time, new_time } => ahead(latest_time, new_time),
        K::IO(error) => decoding(error),
        K::Path(_) | K::InvalidFeatureFlagName { .. } | K::InvalidFeatureFlagId { .. } => {
            new(ErrorKind::Invalid, &kind)
        }
        K::SerializationError(_) | K::SerializationErrorFlexBuffers(_) => new(ErrorKind::Internal, &kind),
        kind => corrupt(&kind),
    }
}

fn link_kind(kind: VirtualReferenceErrorKind) -> Error {
    use VirtualReferenceErrorKind as K;
    let family = match kind {
        K::NoContainerForUrl(_) | K::NoContainerForName(_) | K::UnauthorizedVirtualChunkContainer { .. } => {
            ErrorKind::LinkNotAllowed
        }
        K::ObjectModified(_) => ErrorKind::SourceChanged,
        _ => ErrorKind::Invalid,
    };
    new(family, &kind)
}

fn storage_kind(kind: StorageErrorKind) -> Error {
    use StorageErrorKind as K;
    match kind {
        K::ObjectNotFound => {
            Error::new(ErrorKind::Corrupt, "a file that the repository refers to is missing").hint(VERIFY)
        }
        K::ObjectStore(ref error) => {
            object_store(error.as_ref()).unwrap_or_else(|| new(ErrorKind::Network, &kind).hint(ONLINE))
        }
        K::IOError(error) => io(&error),
        K::Throttled { .. } => {
            new(ErrorKind::Network, &kind).hint("the store asks for fewer requests: try again later")
        }
        kind => new(ErrorKind::Invalid, &kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_name_their_paths() {
        let path = icechunk::format::Path::from_trusted("/a/b");
        assert!(conflicts_text(&[Conflict::NewNodeConflictsWithExistingNode(path)]).contains("/a/b"));
    }
}
