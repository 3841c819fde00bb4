//! Bytes of a repository's own objects.

use std::path::Path;

use bytes::Bytes;
use icecore_grid::{Error, ErrorKind, Result};
use tokio::io::AsyncReadExt;

use crate::error;
use crate::open::repo_state::RepoState;
use crate::runtime::run;

/// Maximum length of a single read of an object.
const MAX_READ: u64 = 1 << 32;

/// Reads `length` bytes from `offset` on.
pub(crate) fn read(shared: &RepoState, name: &str, offset: u64, length: u64) -> Result<Bytes> {
    let end = offset.checked_add(length).filter(|_| length <= MAX_READ && is_object(name));
    let end = end.ok_or_else(|| {
        Error::new(ErrorKind::Invalid, format!("bytes {offset}+{length} of {name} cannot be read at once"))
    })?;
    if length == 0 {
        return Ok(Bytes::new());
    }
    let during = error::during(format!("{}/{name}", shared.url));
    run(async {
        let repository = shared.repository();
        let context = repository.asset_manager().storage_context();
        let (reader, _) =
            repository.storage().get_object(&context, name, Some(&(offset..end))).await.map_err(error::storage)?;
        let mut bytes = Vec::new();
        reader.take(length).read_to_end(&mut bytes).await.map_err(error::decoding)?;
        match bytes.len() as u64 {
            read if read == length => Ok(Bytes::from(bytes)),
            read => Err(error::damaged(format!("bytes {offset}..{end} were requested, {read} were read"))),
        }
    })
    .map_err(during)
}

/// Deletes an object that was written into a directory whose repository had been removed.
pub(crate) fn take_back(folder: &Path, object: &str) {
    let path = folder.join(object);
    let _it_was_swept_already = std::fs::remove_file(&path);
    for empty in path.ancestors().skip(1).take_while(|above| above.starts_with(folder)) {
        if std::fs::remove_dir(empty).is_err() {
            return;
        }
    }
}

fn is_object(name: &str) -> bool {
    name.strip_prefix("chunks/").is_some_and(|id| id.bytes().all(|b| b.is_ascii_alphanumeric()))
}
