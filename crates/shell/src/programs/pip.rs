//! Programs `pip` and `pip3`: pip itself, which is a package of the image, without network.

use super::interpreter::start;
use crate::state::{Done, Shell};

/// Starts pip with the sandbox's defaults.
const PIP: &str = include_str!("pip.py");

/// `pip`, and `python3 -m pip`.
pub(super) async fn pip(shell: &mut Shell, arguments: &[String]) -> Done {
    let before = ["-P", "-c", PIP].map(str::to_owned);
    start(shell, [&before[..], arguments].concat()).await
}
