//! Object stores that lack a verb: copies are made of a get and a put, and conditional writes are tried when a
//! repository is created.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use icecore_grid::{Error, ErrorKind, Result};
use object_store::path::Path;
use object_store::{
    CopyMode, CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, UpdateVersion,
};

use crate::error;

type StoreResult<T> = object_store::Result<T>;

/// Name of the object that is written to see what the store does.
const PROBE: &str = ".icecore.probe";
/// An entity tag that no object has.
const NO_TAG: &str = "\"00000000000000000000000000000000\"";

/// Whether a server says that it does not know a verb: 501, or 405 of simple servers.
fn is_unknown(error: &object_store::Error) -> bool {
    let text = error::causes(error);
    matches!(error, object_store::Error::NotImplemented { .. } | object_store::Error::NotSupported { .. })
        || ["501 Not Implemented", "405 Method Not Allowed", "NotImplemented", "MethodNotAllowed"]
            .iter()
            .any(|code| text.contains(code))
}

/// A store whose copies also work without the server's help.
#[derive(Debug)]
pub(crate) struct Copying(Arc<dyn ObjectStore>);

impl Copying {
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self(store)
    }
}

impl fmt::Display for Copying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for Copying {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> StoreResult<PutResult> {
        self.0.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> StoreResult<Box<dyn MultipartUpload>> {
        self.0.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> StoreResult<GetResult> {
        self.0.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> StoreResult<Vec<Bytes>> {
        self.0.get_ranges(location, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, StoreResult<Path>>) -> BoxStream<'static, StoreResult<Path>> {
        self.0.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        self.0.list(prefix)
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        self.0.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> StoreResult<ListResult> {
        self.0.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> StoreResult<()> {
        let mode = match options.mode {
            CopyMode::Overwrite => PutMode::Overwrite,
            CopyMode::Create => PutMode::Create,
        };
        match self.0.copy_opts(from, to, options).await {
            Err(e) if is_unknown(&e) => {
                let bytes = self.0.get_opts(from, GetOptions::default()).await?.bytes().await?;
                self.0.put_opts(to, bytes.into(), PutOptions { mode, ..PutOptions::default() }).await.map(drop)
            }
            done => done,
        }
    }
}

/// Finds out whether a store refuses to replace an object that is another than expected, as each commit does. Without
/// that, one of two concurrent commits is lost unnoticed. The object that is asked for does not exist: a store with
/// conditional writes writes nothing, so that nothing must be deleted, which some stores can't do many at a time and
/// some users may not do at all.
///
/// # Errors
/// Unsupported if it does not; otherwise those of the store.
pub(crate) async fn must_be_conditional(store: &dyn ObjectStore, url: &str) -> Result<()> {
    use object_store::Error::{AlreadyExists, NotFound, Precondition};
    let location = Path::from(PROBE);
    let expected = UpdateVersion { e_tag: Some(NO_TAG.to_owned()), version: None };
    let options = PutOptions { mode: PutMode::Update(expected), ..PutOptions::default() };
    match store.put_opts(&location, PutPayload::from_static(b"probe"), options).await {
        Err(AlreadyExists { .. } | Precondition { .. } | NotFound { .. }) => Ok(()),
        Ok(_) => {
            let mut error = lacking(url, "ignores the condition of conditional writes");
            if store.delete(&location).await.is_err() {
                error.hint.push_str("; remove the object ");
                error.hint.push_str(PROBE);
            }
            Err(error)
        }
        Err(e) if is_unknown(&e) => Err(lacking(url, "does not know conditional writes")),
        Err(e) => Err(error::object_store(&e).unwrap_or_else(|| {
            Error::new(ErrorKind::Io, error::causes(&e)).hint("check the address, and that the store can be written")
        })),
    }
}

fn lacking(url: &str, what: &str) -> Error {
    let message = format!("{url}: this store {what}, so one of two commits at the same time would be lost");
    Error::new(ErrorKind::Unsupported, message).hint(
        "if there is only one writer, declare it each time that the repository is opened: --storage single_writer=true",
    )
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;

    use super::*;
    use crate::runtime::run;

    /// A store that ignores conditions, or answers 501 to copies.
    #[derive(Debug)]
    struct Simple(InMemory);

    impl fmt::Display for Simple {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.fmt(f)
        }
    }

    #[async_trait]
    impl ObjectStore for Simple {
        async fn put_opts(&self, location: &Path, payload: PutPayload, _: PutOptions) -> StoreResult<PutResult> {
            self.0.put_opts(location, payload, PutOptions::default()).await
        }
        async fn put_multipart_opts(
            &self,
            location: &Path,
            options: PutMultipartOptions,
        ) -> StoreResult<Box<dyn MultipartUpload>> {
            self.0.put_multipart_opts(location, options).await
        }
        async fn get_opts(&self, location: &Path, options: GetOptions) -> StoreResult<GetResult> {
            self.0.get_opts(location, options).await
        }
        fn delete_stream(
            &self,
            locations: BoxStream<'static, StoreResult<Path>>,
        ) -> BoxStream<'static, StoreResult<Path>> {
            self.0.delete_stream(locations)
        }
        fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
            self.0.list(prefix)
        }
        async fn list_with_delimiter(&self, prefix: Option<&Path>) -> StoreResult<ListResult> {
            self.0.list_with_delimiter(prefix).await
        }
        async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> StoreResult<()> {
            let source = "Server returned non-2xx status code: 501 Not Implemented".into();
            Err(object_store::Error::Generic { store: "S3", source })
        }
    }

    #[test]
    fn a_store_without_copies_gets_and_puts() {
        let store = Copying::new(Arc::new(Simple(InMemory::new())));
        let (a, b) = (Path::from("a"), Path::from("b"));
        let copied = run(async {
            store.put_opts(&a, PutPayload::from_static(b"x"), PutOptions::default()).await.unwrap();
            store.copy_opts(&a, &b, CopyOptions::default()).await.unwrap();
            Ok(store.get_opts(&b, GetOptions::default()).await.unwrap().bytes().await.unwrap())
        });
        assert_eq!(copied.unwrap(), "x");
    }

    #[test]
    fn a_store_that_ignores_conditions_is_found_out() {
        let error = run(must_be_conditional(&Simple(InMemory::new()), "s3://b/p")).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unsupported);
        assert!(error.hint.contains("single_writer=true"));
        let store = InMemory::new();
        run(must_be_conditional(&store, "s3://b/p")).unwrap();
        let left = run(async { Ok(futures::StreamExt::count(store.list(None)).await) });
        assert_eq!(left.unwrap(), 0);
    }
}
