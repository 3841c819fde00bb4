//! Encrypted connections: a listener whose handshakes run beside each other.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use icecore::grid::{Error, ErrorKind, Result};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

/// How long a client may take for its handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Connections that wait to be served.
const WAITING: usize = 64;

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

/// Connections whose handshake is done.
pub(crate) struct Encrypted {
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: SocketAddr,
}

impl Encrypted {
    /// Must be called on the server's runtime.
    pub fn new(listener: TcpListener, certificate: &Certificate) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let (sender, ready) = mpsc::channel(WAITING);
        tokio::spawn(accept(listener, TlsAcceptor::from(Arc::clone(&certificate.0)), sender));
        Ok(Self { ready, address })
    }
}

async fn accept(
    mut listener: TcpListener,
    acceptor: TlsAcceptor,
    sender: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>,
) {
    while !sender.is_closed() {
        // axum's own way to go on after errors such as too many open files.
        let (stream, peer) = tokio::select! {
            accepted = Listener::accept(&mut listener) => accepted,
            () = sender.closed() => return,
        };
        let (acceptor, sender) = (acceptor.clone(), sender.clone());
        tokio::spawn(async move {
            // Who does not finish the handshake is not answered.
            if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                let _left = sender.send((stream, peer)).await;
            }
        });
    }
}

impl Listener for Encrypted {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(accepted) => accepted,
            // The task that accepts ended with the runtime.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}
