//! Minimal HTTP/1.1 client that reads byte ranges over one connection.

use std::io::{self, Read, Write};
use std::net::TcpStream;

pub struct Connection {
    stream: TcpStream,
    host: String,
    path: String,
}

impl Connection {
    /// `address` is HOST:PORT/PATH.
    pub fn open(address: &str) -> io::Result<Self> {
        let (host, path) = address.split_once('/').ok_or_else(|| io::Error::other("the URL has no path"))?;
        let stream = TcpStream::connect(host)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, host: host.to_string(), path: path.to_string() })
    }

    /// Fills `out` with the file's bytes from `offset` on.
    pub fn read(&mut self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let last = offset + out.len() as u64 - 1;
        let ask = format!("GET /{} HTTP/1.1\r\nHost: {}\r\nRange: bytes={offset}-{last}\r\n\r\n", self.path, self.host);
        self.stream.write_all(ask.as_bytes())?;
        let mut head = Vec::new();
        let mut block = [0u8; 16 << 10];
        let body = loop {
            let n = self.stream.read(&mut block)?;
            if n == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            head.extend_from_slice(&block[..n]);
            if let Some(end) = head.windows(4).position(|w| w == b"\r\n\r\n") {
                break end + 4;
            }
        };
        if !head.starts_with(b"HTTP/1.1 206") {
            return Err(io::Error::other(String::from_utf8_lossy(&head[..body.min(80)]).into_owned()));
        }
        let early = head.len() - body;
        out[..early].copy_from_slice(&head[body..]);
        self.stream.read_exact(&mut out[early..])
    }
}
