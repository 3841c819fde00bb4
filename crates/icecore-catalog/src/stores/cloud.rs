//! Clients of buckets: S3, Google Cloud Storage and Azure, for repositories and for sources.

use std::collections::BTreeMap;
use std::sync::Arc;

use icecore_grid::{Error, ErrorKind, Result};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::{ClientConfigKey, ObjectStore};
use url::{Host, Url};

use crate::stores::credentials::{self, Keys, Renewing};
use crate::stores::flags::{S3_OPTIONS, allows_http, flag};
use crate::stores::http::{CloudConnector, client_options, retries};

type Options = BTreeMap<String, String>;

/// Schemes of buckets, as this crate writes them.
const SCHEMES: [&str; 3] = ["s3", "gs", "az"];
/// Option that names a registered function that returns credentials.
pub(crate) const CREDENTIALS: &str = "credentials";

/// The bucket (`s3://bucket`) and the key of a URL of an object in a bucket; None for other URLs.
#[must_use]
pub fn bucket_of(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    SCHEMES.contains(&scheme).then(|| {
        let key = rest.split_once('/').map_or("", |(_, key)| key);
        (url.get(..url.len() - key.len()).unwrap_or(url).trim_end_matches('/'), key)
    })
}

/// A builder with the environment's settings, then the options. Keys of the environment are left out if the options
/// have any, so that the two are never mixed.
macro_rules! configured {
    ($builder:ty, $key:ty, $prefix:literal, $name:ident, $options:expr) => {{
        let is_given = $options.keys().any(|name| is_secret(name) || name == "anonymous");
        let mut builder = <$builder>::new();
        if !is_given {
            builder = <$builder>::from_env();
        } else {
            for (name, value) in std::env::vars_os() {
                let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else { continue };
                if name.starts_with($prefix)
                    && !is_secret(name)
                    && let Ok(key) = name.to_ascii_lowercase().parse::<$key>()
                {
                    builder = builder.with_config(key, value);
                }
            }
        }
        builder = builder.with_client_options(client_options().with_allow_http(allows_http($options)?));
        for (name, value) in $options {
            if let Some(key) = $name(name).and_then(|name| name.parse::<$key>().ok()) {
                builder = builder.with_config(key, value);
            }
        }
        builder.with_retry(retries($options)?).with_http_connector(CloudConnector)
    }};
}

/// A client for the bucket `base`, such as `gs://bucket`.
///
/// # Errors
/// `invalid` for invalid options, `permission` for credentials of another process.
pub fn cloud_store(base: &str, options: &Options) -> Result<Arc<dyn ObjectStore>> {
    let invalid = |e: object_store::Error| {
        Error::new(ErrorKind::Invalid, format!("{base}: {e}"))
            .hint("check the options in storage={…} (--storage KEY=VALUE)")
    };
    let keys = options.get(CREDENTIALS).map(|id| credentials::find(id)).transpose()?;
    let (scheme, name) = base.split_once("://").unwrap_or(("", base));
    match scheme {
        "gs" => {
            let mut builder = configured!(GoogleCloudStorageBuilder, GoogleConfigKey, "GOOGLE_", gs_name, options);
            check_endpoint(base, builder.get_config_value(&GoogleConfigKey::BaseUrl))?;
            if let Some(keys) = &keys {
                builder = builder.with_credentials(Arc::new(credentials::Google(Arc::clone(keys))));
            }
            builder.with_bucket_name(name).build().map(|store| renewing(store, keys)).map_err(invalid)
        }
        "az" => {
            let mut builder = configured!(MicrosoftAzureBuilder, AzureConfigKey, "AZURE_", az_name, options);
            check_endpoint(base, builder.get_config_value(&AzureConfigKey::Endpoint))?;
            if let Some(keys) = &keys {
                builder = builder.with_credentials(Arc::new(credentials::Azure(Arc::clone(keys))));
            }
            builder.with_container_name(name).build().map(|store| renewing(store, keys)).map_err(invalid)
        }
        _ => {
            let mut builder = configured!(AmazonS3Builder, AmazonS3ConfigKey, "AWS_", s3_name, options);
            let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint);
            check_endpoint(base, endpoint.clone())?;
            let is_hosted = builder.get_config_value(&AmazonS3ConfigKey::VirtualHostedStyleRequest);
            if let (Some(endpoint), Some("true")) = (endpoint, is_hosted.as_deref()) {
                builder = builder.with_endpoint(hosted(&endpoint, name));
            }
            if let Some(keys) = &keys {
                builder = builder.with_credentials(Arc::new(credentials::Aws(Arc::clone(keys))));
            }
            builder.with_bucket_name(name).build().map(|store| renewing(store, keys)).map_err(invalid)
        }
    }
}

/// The clients panic at addresses without a scheme.
fn check_endpoint(base: &str, endpoint: Option<String>) -> Result<()> {
    let Some(endpoint) = endpoint.filter(|endpoint| !endpoint.is_empty()) else { return Ok(()) };
    let is_url = ["http", "https"]
        .iter()
        .any(|scheme| Url::parse(&endpoint).is_ok_and(|url| url.scheme() == *scheme && url.has_host()));
    if is_url {
        return Ok(());
    }
    let scheme = if endpoint.contains("://") { "" } else { "http://" };
    Err(Error::new(ErrorKind::Invalid, format!("{base}: endpoint_url {endpoint:?} needs http:// or https://"))
        .hint(format!("--storage endpoint_url={scheme}{endpoint}, or https://… if the server encrypts")))
}

/// An endpoint whose host names the bucket: object_store expects it there. Addresses of numbers have no names below them.
fn hosted(endpoint: &str, bucket: &str) -> String {
    let Ok(url) = Url::parse(endpoint) else { return endpoint.to_owned() };
    match url.host() {
        Some(Host::Domain(host)) if !host.starts_with(&format!("{bucket}.")) => {
            endpoint.replacen("://", &format!("://{bucket}."), 1)
        }
        _ => endpoint.to_owned(),
    }
}

fn renewing(store: impl ObjectStore, keys: Option<Arc<Keys>>) -> Arc<dyn ObjectStore> {
    match keys {
        Some(keys) => Arc::new(Renewing::new(Arc::new(store), keys)),
        None => Arc::new(store),
    }
}

/// Whether an option or an environment variable holds a credential, or says where it is.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "secret", "token", "sas", "credential", "service_account", "skip_signature", "client_id", "role"]
        .iter()
        .any(|part| name.contains(part))
}

fn s3_name(name: &str) -> Option<&str> {
    Some(match name {
        "anonymous" => "aws_skip_signature",
        // Path style is the default of object_store; the others are used elsewhere.
        "allow_http" | "force_path_style" | CREDENTIALS => return None,
        other => other,
    })
}

fn gs_name(name: &str) -> Option<&str> {
    Some(match name {
        "endpoint_url" => "google_base_url",
        "anonymous" => "google_skip_signature",
        "session_token" => "google_bearer_token",
        "allow_http" | CREDENTIALS => return None,
        other => other,
    })
}

fn az_name(name: &str) -> Option<&str> {
    Some(match name {
        "endpoint_url" => "azure_storage_endpoint",
        "anonymous" => "azure_skip_signature",
        "session_token" => "azure_storage_token",
        "allow_http" | CREDENTIALS => return None,
        other => other,
    })
}

/// Whether the stores of `scheme` have this option; `None`: whether any store has it.
pub(crate) fn knows(scheme: Option<&str>, name: &str) -> bool {
    let is = |one: &str| scheme.is_none_or(|scheme| scheme == one);
    let common = ["anonymous", "allow_http", "endpoint_url", "session_token", CREDENTIALS];
    common.contains(&name)
        || name.parse::<ClientConfigKey>().is_ok()
        || (is("s3") && S3_OPTIONS.contains(&name))
        || (is("gs") && name.parse::<GoogleConfigKey>().is_ok())
        || (is("az") && name.parse::<AzureConfigKey>().is_ok())
}

/// The account that the options or the environment name, which Icechunk records with Azure's links.
pub(crate) fn azure_account(options: &Options) -> Option<String> {
    let given = options.get("account_name").or_else(|| options.get("azure_storage_account_name"));
    given.cloned().or_else(|| std::env::var("AZURE_STORAGE_ACCOUNT_NAME").ok())
}

/// Checks the flags among the options.
pub(crate) fn check_flags(options: &Options) -> Result<()> {
    ["anonymous", "allow_http", "force_path_style", "virtual_hosted_style_request"]
        .iter()
        .try_for_each(|key| flag(options, key).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_buckets() {
        assert_eq!(bucket_of("s3://b/x/y"), Some(("s3://b", "x/y")));
        assert_eq!(bucket_of("gs://b"), Some(("gs://b", "")));
        assert_eq!(bucket_of("az://b/"), Some(("az://b", "")));
        assert_eq!(bucket_of("https://b/x"), None);
    }

    #[test]
    fn endpoints() {
        assert_eq!(hosted("http://s3.example.org:9000", "moon"), "http://moon.s3.example.org:9000");
        assert_eq!(hosted("http://moon.s3.example.org", "moon"), "http://moon.s3.example.org");
        assert_eq!(hosted("http://127.0.0.1:9000", "moon"), "http://127.0.0.1:9000");
        for wrong in ["127.0.0.1:9000", "s3.example.org", "ftp://h", "http://", "localhost:9000"] {
            let error = check_endpoint("s3://moon", Some(wrong.to_owned())).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Invalid, "{wrong}");
        }
        assert!(check_endpoint("s3://moon", Some("https://h:1/p".to_owned())).is_ok());
    }

    #[test]
    fn options_by_scheme() {
        assert!(knows(Some("az"), "account_name") && !knows(Some("s3"), "account_name") && knows(None, "account_name"));
        assert!(knows(Some("gs"), "service_account_key") && !knows(None, "acces_key_id"));
        for name in ["account_key", "sas_token", "AWS_SESSION_TOKEN", "google_application_credentials"] {
            assert!(is_secret(name), "{name}");
        }
        assert!(!is_secret("region") && !is_secret("account_name") && !is_secret("endpoint_url"));
    }
}
