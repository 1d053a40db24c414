//! Programs `zip` and `unzip`, for entries that are stored or deflated.

mod archive;
mod create;
mod extract;

pub(super) use create::zip;
pub(super) use extract::unzip;
