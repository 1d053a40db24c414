//! `python3`: an interpreter of its own, made by the host; and `pytest`, which is started by one.

use crate::PythonStart;
use crate::state::{Done, Shell};

pub(super) async fn python(shell: &mut Shell, _who: &str, arguments: &[String]) -> Done {
    if let [module, pip, rest @ ..] = arguments
        && module == "-m"
        && pip == "pip"
    {
        return super::pip::pip(shell, rest).await;
    }
    start(shell, arguments.to_vec()).await
}

/// The script `pytest` of a distribution. Unlike `python3 -m pytest` it does not import from the working directory.
const PYTEST: &str = "import sys, pytest; sys.argv[0] = 'pytest'; sys.exit(pytest.console_main())";

pub(super) async fn pytest(shell: &mut Shell, arguments: &[String]) -> Done {
    let before = ["-P", "-c", PYTEST].map(str::to_owned);
    start(shell, [&before[..], arguments].concat()).await
}

/// Runs `python3` with these arguments.
pub(super) async fn start(shell: &mut Shell, args: Vec<String>) -> Done {
    let start = PythonStart {
        args,
        env: shell.environment(),
        cwd: shell.cwd.clone(),
        credentials: shell.tree.credentials(),
        stdin: shell.streams.stdin.clone(),
        stdout: shell.streams.stdout.clone(),
        stderr: shell.streams.stderr.clone(),
    };
    Ok(shell.run_python(start).await)
}
