//! Serves repositories without Python: `cargo run --release -p icecore-server --example serve -- PATH… [PORT]`.

use std::process::ExitCode;

use icecore::grid::Result;
use icecore_server::{Config, Served, Server, until};

fn run() -> Result<()> {
    let mut config = Config::default();
    for argument in std::env::args().skip(1) {
        match argument.parse() {
            Ok(port) => config.address.set_port(port),
            Err(_) => config.served.push(Served::parse(&argument)?),
        }
    }
    let server = Server::bind(config)?;
    println!("http://{}", server.address()?);
    server.run(until(|| false))
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error[{}]: {error}\n  {}", error.kind, error.hint);
            ExitCode::FAILURE
        }
    }
}
