//! Credentials from a function of the caller: fetched when they expire or a store refuses them, once for all requests.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use icecore_grid::{Error, ErrorKind, Result};
use object_store::aws::AwsCredential;
use object_store::azure::{AzureAccessKey, AzureCredential};
use object_store::gcp::GcpCredential;
use object_store::path::Path;
use object_store::{
    CopyOptions, CredentialProvider, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult,
};

use crate::error::is_refused;

/// Credentials under the names of the options, and `expires` in seconds since 1970.
type Fetched = BTreeMap<String, String>;
type Fetch = Arc<dyn Fn() -> Result<Fetched> + Send + Sync>;
type StoreResult<T> = object_store::Result<T>;

/// Credentials are fetched this long before they expire.
const AHEAD: Duration = Duration::from_secs(60);
/// Credentials that are refused sooner than this after a renewal are not renewed: the refusal has another reason.
const FRESH: Duration = Duration::from_secs(5);

static REGISTERED: Mutex<Vec<Arc<Keys>>> = Mutex::new(Vec::new());

/// Registers a function that returns credentials; the result is the value of the option `credentials`.
pub fn register(fetch: Fetch) -> String {
    let mut all = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    all.push(Arc::new(Keys { fetch, current: tokio::sync::Mutex::default() }));
    format!("callable {}", all.len())
}

/// The credentials of an option's value.
pub(crate) fn find(id: &str) -> Result<Arc<Keys>> {
    let number = id.strip_prefix("callable ").and_then(|number| number.parse::<usize>().ok());
    let all = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    number.and_then(|number| all.get(number.checked_sub(1)?).cloned()).ok_or_else(|| {
        Error::new(ErrorKind::Permission, "storage option credentials is not a function of this process")
            .hint("give a function: storage={\"credentials\": auth.get_s3_credentials}")
    })
}

/// The credentials of one function.
pub(crate) struct Keys {
    fetch: Fetch,
    current: tokio::sync::Mutex<Option<Current>>,
}

struct Current {
    number: u64,
    fetched: Arc<Fetched>,
    since: Instant,
    until: Option<Instant>,
}

/// Shows nothing of the credentials.
impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys")
    }
}

impl Keys {
    /// The valid credentials and their number; fetches them first if there are none.
    async fn get(&self) -> StoreResult<(u64, Arc<Fetched>)> {
        let mut current = self.current.lock().await;
        match &*current {
            Some(known) if known.until.is_none_or(|until| Instant::now() < until) => {
                Ok((known.number, Arc::clone(&known.fetched)))
            }
            _ => self.fetch(&mut current).await,
        }
    }

    /// Replaces the credentials with this number, which a store refused; whether there are others now.
    async fn renew(&self, refused: u64) -> StoreResult<bool> {
        let mut current = self.current.lock().await;
        if let Some(known) = &*current {
            if known.number != refused {
                return Ok(true); // another request's refusal has renewed them
            }
            if known.number > 1 && known.since.elapsed() < FRESH {
                return Ok(false);
            }
        }
        self.fetch(&mut current).await.map(|_| true)
    }

    async fn fetch(&self, current: &mut Option<Current>) -> StoreResult<(u64, Arc<Fetched>)> {
        let fetch = Arc::clone(&self.fetch);
        let failed = |message: String| object_store::Error::Unauthenticated {
            path: "the function `credentials`".to_owned(),
            source: message.into(),
        };
        let fetched = tokio::task::spawn_blocking(move || fetch()).await.map_err(|e| failed(e.to_string()))?;
        let fetched = Arc::new(fetched.map_err(|e| failed(e.message))?);
        let number = current.as_ref().map_or(1, |known| known.number + 1);
        let until = fetched.get("expires").and_then(|text| text.parse().ok()).map(until);
        *current = Some(Current { number, fetched: Arc::clone(&fetched), since: Instant::now(), until });
        Ok((number, fetched))
    }
}

/// When credentials that expire at `expires` (seconds since 1970) are renewed: a minute before, or at half of their life.
fn until(expires: f64) -> Instant {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let left = Duration::try_from_secs_f64((expires - now).clamp(0.0, 1e7)).unwrap_or_default();
    Instant::now() + left.saturating_sub(AHEAD).max(left / 2)
}

macro_rules! provider {
    ($name:ident, $credential:ty, $convert:ident) => {
        #[derive(Debug)]
        pub(crate) struct $name(pub Arc<Keys>);

        #[async_trait]
        impl CredentialProvider for $name {
            type Credential = $credential;

            async fn get_credential(&self) -> StoreResult<Arc<$credential>> {
                let (_, fetched) = self.0.get().await?;
                $convert(&fetched).map(Arc::new).ok_or_else(|| lacking(&fetched))
            }
        }
    };
}

provider!(Aws, AwsCredential, aws);
provider!(Google, GcpCredential, google);
provider!(Azure, AzureCredential, azure);

/// Names what was returned, without the values.
fn lacking(fetched: &Fetched) -> object_store::Error {
    let names = fetched.keys().cloned().collect::<Vec<_>>().join(", ");
    object_store::Error::Unauthenticated {
        path: "the function `credentials`".to_owned(),
        source: format!("it must return the keys of this store (got {names})").into(),
    }
}

fn aws(fetched: &Fetched) -> Option<AwsCredential> {
    Some(AwsCredential {
        key_id: fetched.get("access_key_id")?.clone(),
        secret_key: fetched.get("secret_access_key")?.clone(),
        token: fetched.get("session_token").cloned(),
    })
}

fn google(fetched: &Fetched) -> Option<GcpCredential> {
    Some(GcpCredential { bearer: fetched.get("session_token")?.clone() })
}

fn azure(fetched: &Fetched) -> Option<AzureCredential> {
    if let Some(key) = fetched.get("account_key") {
        return AzureAccessKey::try_new(key).ok().map(AzureCredential::AccessKey);
    }
    if let Some(sas) = fetched.get("sas_token") {
        let pairs = url::form_urlencoded::parse(sas.trim_start_matches('?').as_bytes());
        return Some(AzureCredential::SASToken(pairs.into_owned().collect()));
    }
    fetched.get("session_token").cloned().map(AzureCredential::BearerToken)
}

/// A store that renews its credentials and repeats a request once when the store refuses them.
#[derive(Debug)]
pub(crate) struct Renewing {
    store: Arc<dyn ObjectStore>,
    keys: Arc<Keys>,
}

macro_rules! renewed {
    ($self:ident, $call:expr) => {{
        let (used, _) = $self.keys.get().await?;
        match $call.await {
            Err(error) if is_refused(&error) && $self.keys.renew(used).await? => $call.await,
            done => done,
        }
    }};
}

impl Renewing {
    pub fn new(store: Arc<dyn ObjectStore>, keys: Arc<Keys>) -> Self {
        Self { store, keys }
    }

    fn listed<F>(&self, list: F) -> BoxStream<'static, StoreResult<ObjectMeta>>
    where
        F: Fn(&dyn ObjectStore) -> BoxStream<'static, StoreResult<ObjectMeta>> + Send + 'static,
    {
        let (store, keys) = (Arc::clone(&self.store), Arc::clone(&self.keys));
        let begun = async move {
            let used = keys.get().await;
            let mut rest = list(&*store).fuse(); // an empty list ends with its first element
            let first = rest.next().await;
            if let (Some(Err(error)), Ok((used, _))) = (&first, used)
                && is_refused(error)
                && matches!(keys.renew(used).await, Ok(true))
            {
                return list(&*store);
            }
            stream::iter(first).chain(rest).boxed()
        };
        stream::once(begun).flatten().boxed()
    }
}

impl fmt::Display for Renewing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for Renewing {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> StoreResult<PutResult> {
        renewed!(self, self.store.put_opts(path, payload.clone(), options.clone()))
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> StoreResult<Box<dyn MultipartUpload>> {
        renewed!(self, self.store.put_multipart_opts(path, options.clone()))
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> StoreResult<GetResult> {
        renewed!(self, self.store.get_opts(path, options.clone()))
    }

    fn delete_stream(&self, paths: BoxStream<'static, StoreResult<Path>>) -> BoxStream<'static, StoreResult<Path>> {
        self.store.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        let prefix = prefix.cloned();
        self.listed(move |store| store.list(prefix.as_ref()))
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        let (prefix, offset) = (prefix.cloned(), offset.clone());
        self.listed(move |store| store.list_with_offset(prefix.as_ref(), &offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> StoreResult<ListResult> {
        renewed!(self, self.store.list_with_delimiter(prefix))
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> StoreResult<()> {
        renewed!(self, self.store.copy_opts(from, to, options.clone()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn one_renewal_for_many_refusals() {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let id = register(Arc::new(|| {
            let call = CALLS.fetch_add(1, Ordering::SeqCst);
            Ok(BTreeMap::from([("session_token".to_owned(), call.to_string())]))
        }));
        let keys = find(&id).unwrap();
        crate::runtime().block_on(async {
            let used = futures::future::join_all((0..9).map(|_| keys.get())).await;
            assert!(used.iter().all(|used| used.as_ref().unwrap().0 == 1));
            let renewed = futures::future::join_all((0..9).map(|_| keys.renew(1))).await;
            assert!(renewed.into_iter().all(|renewed| renewed.unwrap()));
            assert_eq!(CALLS.load(Ordering::SeqCst), 2);
            assert!(!keys.renew(2).await.unwrap(), "credentials that were just renewed are refused for another reason");
        });
        assert!(find("callable 0").is_err() && find("x").is_err());
    }

    #[test]
    fn renewal_before_the_end() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        let left = |seconds: f64| until(now + seconds).saturating_duration_since(Instant::now()).as_secs_f64().round();
        assert_eq!((left(3600.0), left(40.0), left(-5.0)), (3540.0, 20.0, 0.0));
    }
}
