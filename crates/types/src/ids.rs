//! Names of things that outlive a function call.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Public id of an execution: UUID version 7, so that ids sort by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExecutionId(Uuid);

impl ExecutionId {
    /// A new id, unlike any other.
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }
}

impl std::fmt::Display for ExecutionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Public id of a session: UUID version 7, so that ids sort by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(Uuid);

/// Public id of a checkpoint: UUID version 7, so that ids sort by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CheckpointId(Uuid);

/// Id of a key, as `proofbox keys` shows it: UUID version 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyId(Uuid);

/// Public id of a job: UUID version 7, so that ids sort by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(Uuid);

/// Public id of a volume: UUID version 7, so that ids sort by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VolumeId(Uuid);

/// Public id of a webhook: UUID version 7, so that ids sort by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WebhookId(Uuid);

macro_rules! wire_id {
    ($name:ident) => {
        impl $name {
            /// A new id, unlike any other.
            pub fn generate() -> Self {
                Self(Uuid::now_v7())
            }

            /// The id in this text, with or without hyphens.
            pub fn parse(text: &str) -> Option<Self> {
                Uuid::try_parse(text).ok().map(Self)
            }

            /// Returns the id as 32 hexadecimal digits without hyphens.
            pub fn simple(&self) -> String {
                self.0.simple().to_string()
            }

            /// Returns the id as a UUID.
            pub fn uuid(&self) -> Uuid {
                self.0
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

wire_id!(SessionId);
wire_id!(CheckpointId);
wire_id!(JobId);
wire_id!(KeyId);
wire_id!(VolumeId);
wire_id!(WebhookId);
