//! Reasons for which submissions run in their images.

use std::fmt;

/// Reason for which a submission ran in its image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageReason {
    /// The request, or the session, has it.
    Requested,
    /// Nothing that is imported is in another image only.
    Default,
    /// Imported modules that the default image lacks.
    Imports(Vec<String>),
    /// The import of this module failed in the image that was chosen first.
    Missing(String),
    /// Imported module of an image that was not built.
    Unbuilt {
        /// Module that is imported.
        module: String,
        /// Interpreter that would have it.
        image: String,
    },
}

impl ImageReason {
    /// Removes what it says of texts that the client is not to hear of.
    pub fn hide(&mut self) {
        match self {
            Self::Imports(modules) => modules.clear(),
            Self::Missing(_) => *self = Self::Imports(Vec::new()),
            Self::Unbuilt { .. } => *self = Self::Default,
            Self::Requested | Self::Default => {}
        }
    }
}

impl fmt::Display for ImageReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requested => f.write_str("requested"),
            Self::Default => f.write_str("default"),
            Self::Imports(modules) if modules.is_empty() => f.write_str("imports"),
            Self::Imports(modules) => write!(f, "imports: {}", modules.join(", ")),
            Self::Missing(module) => write!(f, "missing at run time: {module}"),
            Self::Unbuilt { module, image } => {
                write!(
                    f,
                    "default: {module} is in the image `{image}`, which was not built (proofbox runtime build --interpreter {image})"
                )
            }
        }
    }
}
