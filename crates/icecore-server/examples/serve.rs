//! Serves repositories without Python: `cargo run --release -p icecore-server --example serve -- [--writable] [--users FILE] PATH… [PORT]`.

use std::process::ExitCode;
use std::sync::Arc;

use icecore::grid::Result;
use icecore_server::{Config, Served, Server, Users, until};

fn run() -> Result<()> {
    let mut config = Config::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--writable" => {
                config.writable = true;
                continue;
            }
            "--users" => {
                let file = arguments.next().unwrap_or_default();
                config.users = Some(Arc::new(Users::load(file.as_ref())?));
                continue;
            }
            "--line" => {
                let (name, password) = (arguments.next().unwrap_or_default(), arguments.next().unwrap_or_default());
                println!("{}", Users::line(&name, &password)?);
                return Ok(());
            }
            _ => {}
        }
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
