//! Tasks that go on for as long as the service runs, and end with it.

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Tasks in the background, and the word that they are to stop. Clones share both.
#[derive(Clone, Default)]
pub struct BackgroundTasks {
    stopping: CancellationToken,
    tasks: TaskTracker,
}

impl BackgroundTasks {
    /// Runs a task that ends once [`Self::stopping`] is cancelled.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.tasks.spawn(task)
    }

    /// Returns the token that is cancelled when the service goes down: nothing more is to be begun or waited for.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Tells the tasks to stop; what they have begun goes on.
    pub fn stop(&self) {
        self.stopping.cancel();
    }

    /// Waits until the tasks have ended; dropping the future lets them run on.
    pub async fn stopped(&self) {
        self.stopping.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
