//! Format in which jobs are stored: as their client sent them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::super::items::{item_of, line_of};
use super::{CallbackAnswer, JobAnswer};
use crate::http::body::BodyError;
use crate::http::error::ApiError;
use crate::service::{Executor, Finished, JobInfo, JobState, JobWire, SuiteItem};
use proofbox_memory::count_values;
use proofbox_store::{Callback, CallbackPhase, JobItem};
use proofbox_types::caller::Caller;
use proofbox_types::histogram::OUTCOMES;

/// Description of a job, as stored.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct About {
    pub(super) kind: String,
    pub(super) k: Vec<u32>,
}

impl About {
    pub(super) fn of(info: &JobInfo) -> Self {
        serde_json::from_slice(&info.about).unwrap_or_default()
    }
}

/// Fields that all items of a job share.
#[derive(Deserialize)]
struct Head {
    defaults: Map<String, Json>,
}

/// Format of jobs from `/v1`.
pub(crate) struct Wire;

impl JobWire for Wire {
    fn item(&self, executor: &Executor, caller: &Caller, head: &[u8], item: &JobItem) -> Result<SuiteItem, Vec<u8>> {
        let parsed = || {
            // An earlier release may have accepted it.
            count_values(&item.request).map_err(BodyError::from)?;
            // It was one when it was accepted.
            let Head { defaults } = serde_json::from_slice(head).map_err(|_| ApiError::internal())?;
            let request = serde_json::from_slice(&item.request).map_err(|_| ApiError::internal())?;
            item_of(executor, caller, &defaults, request, "")
        };
        parsed().map_err(|error| {
            let line = json!({
                "id": item.name, "task": item.name, "status": "refused", "tests_passed": 0, "tests_total": 0,
                "error": error.to_json(), "labels": {},
            });
            line.to_string().into_bytes()
        })
    }

    fn line(&self, finished: Finished) -> Vec<u8> {
        line_of(finished).to_string().into_bytes()
    }

    fn document(&self, job: &JobInfo) -> Vec<u8> {
        serde_json::to_vec(&document_of(job)).expect("JSON with names for keys")
    }
}

fn time(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// A job as clients see it.
pub(super) fn document_of(info: &JobInfo) -> JobAnswer {
    let (started, ended, reason) = match &info.state {
        JobState::Queued => (None, None, None),
        JobState::Running { started } => (Some(*started), None, None),
        JobState::Finished { started, ended } => (Some(*started), Some(*ended), None),
        JobState::Cancelled { started, ended, reason } => (*started, Some(*ended), Some(reason.clone())),
    };
    let by_status = OUTCOMES.into_iter().zip(info.tally).filter(|(_, count)| *count > 0);
    let at = format!("/v1/jobs/{}", info.id);
    JobAnswer {
        id: info.id.to_string(),
        kind: About::of(info).kind,
        state: info.state.as_str(),
        reason,
        created_at: time(info.created),
        started_at: started.map(time),
        ended_at: ended.map(time),
        expires_at: info.expires.map(time),
        items: info.items,
        done: info.done(),
        by_status: by_status.collect::<BTreeMap<_, _>>(),
        bytes: info.bytes,
        callback: info.callback.as_ref().map(callback_answer),
        results_url: format!("{at}/results"),
        report_url: format!("{at}/report"),
    }
}

fn callback_answer(callback: &Callback) -> CallbackAnswer {
    let next = callback.next_at.and_then(|next| jiff::Timestamp::from_millisecond(next).ok());
    CallbackAnswer {
        url: callback.url.clone(),
        state: match callback.phase {
            CallbackPhase::Waiting => "waiting",
            CallbackPhase::Delivered => "delivered",
            CallbackPhase::GivenUp => "given_up",
        },
        attempts: callback.attempts,
        next_at: next.map(time),
        error: callback.error.clone(),
    }
}
