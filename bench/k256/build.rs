// SPDX-License-Identifier: MIT
//! Which k256 it is: a crate is not told the versions of what it depends on, so that
//! `Cargo.lock` is asked, which cargo has written when this runs.

use std::{env, fs};

fn main() {
    let lock = env::var("CARGO_MANIFEST_DIR").expect("run by cargo") + "/Cargo.lock";
    let text = fs::read_to_string(&lock).expect("cargo writes Cargo.lock first");
    let mut lines = text.lines().skip_while(|line| *line != "name = \"k256\"").skip(1);
    let version = lines
        .next()
        .and_then(|line| line.strip_prefix("version = \""))
        .and_then(|rest| rest.strip_suffix('"'))
        .expect("k256 is in Cargo.lock with its version");

    println!("cargo:rustc-env=SR_K256_VERSION={version}");
    println!("cargo:rerun-if-changed={lock}");
}
