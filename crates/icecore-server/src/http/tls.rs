//! The certificate of encrypted connections.

use std::path::Path;
use std::sync::Arc;

use icecore::grid::{Error, ErrorKind, Result};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate with its chain and key, ready for use.
#[derive(Clone, Debug)]
pub struct Certificate(Arc<ServerConfig>);

impl Certificate {
    /// Reads two PEM files.
    ///
    /// # Errors
    /// `io` for a file that cannot be read; `format` where it has no certificate or key, or the two do not belong together.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self> {
        let chain = CertificateDer::pem_slice_iter(&text(certificate)?)
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(|e| bad(certificate, &e.to_string()))?;
        if chain.is_empty() {
            return Err(bad(certificate, "it has no certificate"));
        }
        let private = PrivateKeyDer::from_pem_slice(&text(key)?).map_err(|e| bad(key, &e.to_string()))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, private))
            .map_err(|e| bad(key, &e.to_string()))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(Arc::new(config)))
    }

    /// What encrypts connections.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.0))
    }
}

fn text(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| {
        Error::new(ErrorKind::Io, format!("{} cannot be read: {e}", path.display())).hint("name a readable PEM file")
    })
}

fn bad(path: &Path, what: &str) -> Error {
    Error::new(ErrorKind::Format, format!("{}: {what}", path.display()))
        .hint("--cert takes a PEM file of the certificate and its chain, --key one of its private key")
}
