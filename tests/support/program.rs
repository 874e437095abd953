//! An example as a program.

use std::env;
use std::path::Path;
use std::process::Command;

/// `cargo test` builds it beside the tests; where only this test was asked for, it is built here.
pub(crate) fn program(example: &str) -> Command {
    let test = env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    let name = format!("{example}{}", env::consts::EXE_SUFFIX);
    let program = folder.join("examples").join(name);
    if !program.exists() {
        let profile = folder.file_name().filter(|name| *name != "debug");
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--example", example, "--profile"])
            .arg(profile.unwrap_or("dev".as_ref()))
            .arg("--target-dir")
            .arg(folder.parent().unwrap())
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(built.unwrap().success() && program.exists());
    }
    Command::new(program)
}
