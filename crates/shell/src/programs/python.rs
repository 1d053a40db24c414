//! `python3`: an interpreter of its own, made by the host; and `pytest`, which is started by one.

use super::interpreter::start;
use super::pip::pip;
use crate::state::{Done, Shell};

pub(super) async fn python(shell: &mut Shell, _who: &str, arguments: &[String]) -> Done {
    if let [option, module, rest @ ..] = arguments
        && option == "-m"
        && module == "pip"
    {
        return pip(shell, rest).await;
    }
    start(shell, arguments.to_vec()).await
}

/// The script `pytest` of a distribution. Unlike `python3 -m pytest` it does not import from the working directory.
const PYTEST: &str = "import sys, pytest; sys.argv[0] = 'pytest'; sys.exit(pytest.console_main())";

pub(super) async fn pytest(shell: &mut Shell, arguments: &[String]) -> Done {
    let before = ["-P", "-c", PYTEST].map(str::to_owned);
    start(shell, [&before[..], arguments].concat()).await
}
