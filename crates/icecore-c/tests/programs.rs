//! The examples and a program of wrong calls, compiled with the C and Fortran compilers of this machine.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails should panic")]

use std::path::{Path, PathBuf};
use std::process::Command;

use icecore::catalog::Storage;
use icecore::session::{Limits, Session};

/// A directory that is removed with the value.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("icecore-c-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _left = std::fs::remove_dir_all(&self.0);
    }
}

/// The directory of `libicecore_c`, which cargo built for this test.
fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// Compiles a program and returns it; None if this machine lacks the compiler.
fn compiled(compiler: &str, sources: &[&str], scratch: &Scratch) -> Option<PathBuf> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (program, library) = (scratch.0.join("program"), libraries());
    let mut command = Command::new(compiler);
    command.args(["-Wall", "-Wextra", "-Werror", "-O1"]).args(sources.iter().map(|source| home.join(source)));
    command.arg("-I").arg(home.join("include")).arg("-L").arg(&library).arg("-licecore_c");
    command.arg(format!("-Wl,-rpath,{}", library.display())).arg("-o").arg(&program).current_dir(&scratch.0);
    match command.status() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        status => {
            assert!(status.unwrap().success(), "{sources:?}");
            Some(program)
        }
    }
}

/// Runs a program on a repository, and returns its output and the repository.
fn run(program: &Path, scratch: &Scratch) -> (String, Session) {
    let address = scratch.0.join("r").display().to_string();
    let done = Command::new(program).arg(&address).output().unwrap();
    assert!(done.status.success(), "{}: {}", done.status, String::from_utf8_lossy(&done.stderr));
    let session = Session::open(&Storage::new(address), None, Limits::default()).unwrap();
    (String::from_utf8(done.stdout).unwrap(), session)
}

fn floats(session: &Session, path: &str, selection: &str) -> Vec<f32> {
    let values = session.values(path, selection).unwrap();
    values.bytes.chunks_exact(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap())).collect()
}

#[test]
fn a_model_in_c() {
    let scratch = Scratch::new("model");
    let program = compiled("cc", &["examples/model.c"], &scratch).expect("a C compiler");
    let (said, session) = run(&program, &scratch);
    assert_eq!(said, "281.6 283.7\n");
    assert_eq!(session.repo().log(None, None).unwrap().len(), 4);
    assert_eq!(floats(&session, "/run/t", "[0:3, 0, 0]"), [280.0, 281.0, 282.0]);
    let document = session.document(session.node("/run/t").unwrap()).unwrap();
    assert_eq!(document["attributes"]["units"], "K");
    assert_eq!(document["dimension_names"], serde_json::json!(["time", "y", "x"]));
    // a second run finds the array
    let (_, session) = run(&program, &scratch);
    assert_eq!(session.array("/run/t").unwrap().meta().shape, [3, 8, 16]);
}

#[test]
fn a_model_in_fortran() {
    let scratch = Scratch::new("fortran");
    let Some(program) = compiled("gfortran", &["include/icecore.f90", "examples/model.f90"], &scratch) else { return };
    let (said, session) = run(&program, &scratch);
    assert_eq!(said, "282.0\n");
    assert_eq!(floats(&session, "/run/t", "[0:3, 7, 15]"), [280.0, 281.0, 282.0]);
}

#[test]
fn ranks_of_a_model() {
    let scratch = Scratch::new("ranks");
    let program = compiled("cc", &["examples/ranks.c"], &scratch).expect("a C compiler");
    let (_, session) = run(&program, &scratch);
    assert_eq!(session.repo().log(None, None).unwrap().len(), 3);
    let values = session.values("/u", "[0:2, 0:6, 0]").unwrap();
    let values: Vec<f64> =
        values.bytes.chunks_exact(8).map(|bytes| f64::from_ne_bytes(bytes.try_into().unwrap())).collect();
    assert_eq!(values, [0., 4., 10., 14., 20., 24., 100., 104., 110., 114., 120., 124.]);
}

#[test]
fn wrong_calls() {
    let scratch = Scratch::new("errors");
    let program = compiled("cc", &["tests/errors.c"], &scratch).expect("a C compiler");
    run(&program, &scratch);
}

#[test]
fn the_header_is_valid_cplusplus() {
    let scratch = Scratch::new("cplusplus");
    std::fs::write(scratch.0.join("header.cpp"), "#include <icecore.h>\nint main() { icecore_close(nullptr); }\n")
        .unwrap();
    let source = scratch.0.join("header.cpp").display().to_string();
    if let Some(program) = compiled("c++", &[&source], &scratch) {
        assert!(Command::new(program).status().unwrap().success());
    }
}
