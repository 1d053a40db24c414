//! The files for deployment fit their schemas and each other.

use std::process::Command;

use crate::tools::{packages, root, succeed};

#[test]
fn deployment_files_fit_their_schemas_and_each_other() {
    let site = packages("deploy", "python3", &root().join("tests/deploy/requirements.txt"), &[]);
    let mut check = Command::new("python3");
    succeed("checking them", check.arg("-B").arg(root().join("tests/deploy/check.py")).env("PYTHONPATH", site));
}
