//! Programs `pip` and `pip3`: what is installed is there, and nothing else can be had.

use super::python::start;
use crate::state::{Done, Shell};

/// Looks at the distributions of the image. Packages that are there count as installed.
const PIP: &str = include_str!("pip.py");

/// `pip`, and `python3 -m pip`.
pub(super) async fn pip(shell: &mut Shell, arguments: &[String]) -> Done {
    let before = ["-P", "-c", PIP].map(str::to_owned);
    start(shell, [&before[..], arguments].concat()).await
}
