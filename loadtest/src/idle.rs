//! Sessions of a neighbour that nobody uses for a while, and a checkpoint: all must be there afterwards, unchanged.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use hyper::{Method, StatusCode};
use serde_json::{Value as Json, json};

use crate::connection::Connection;

/// Sessions that are opened: several, as each is in one worker of the service.
const SESSIONS: u64 = 4;
/// Value of the variable in the checkpoint.
const SAVED: u64 = 1000;
/// Tries of a request that is told to come again.
const MAX_TRIES: usize = 20;

/// Sessions, each with a variable, and a checkpoint of another.
pub(crate) struct IdleSessions {
    connection: Connection,
    /// Id and value of each.
    sessions: Vec<(String, u64)>,
    checkpoint: String,
}

impl IdleSessions {
    /// # Errors
    /// When the service does not open or save them.
    pub(crate) async fn open(mut connection: Connection) -> anyhow::Result<Self> {
        let mut sessions = Vec::new();
        for value in 0..SESSIONS {
            sessions.push((open(&mut connection, json!({}), value).await?, value));
        }
        let saved = open(&mut connection, json!({}), SAVED).await?;
        let path = format!("/v1/sessions/{saved}/checkpoints");
        let checkpoint = id_of(&ask(&mut connection, Method::POST, &path, json!({})).await?)?;
        ask(&mut connection, Method::DELETE, &format!("/v1/sessions/{saved}"), Json::Null).await?;
        Ok(Self { connection, sessions, checkpoint })
    }

    /// Looks what has become of them, and deletes them; returns a line for each that is lost.
    pub(crate) async fn lost(mut self) -> Vec<String> {
        let mut lost = Vec::new();
        for (id, value) in &self.sessions {
            if let Err(error) = check(&mut self.connection, id, *value).await {
                lost.push(format!("idle session {value}: {error:#}"));
            }
        }
        if let Err(error) = check_checkpoint(&mut self.connection, &self.checkpoint).await {
            lost.push(format!("checkpoint: {error:#}"));
        }
        lost
    }
}

/// Opens a session, and gives it a variable.
async fn open(connection: &mut Connection, request: Json, value: u64) -> anyhow::Result<String> {
    let id = id_of(&ask(connection, Method::POST, "/v1/sessions", request).await?)?;
    let code = format!("value = [{value}]\nvalue[0]");
    ensure!(call(connection, &id, &code).await? == json!(value), "a new session has another value");
    Ok(id)
}

/// Shows that a session still has its variable, and deletes it.
async fn check(connection: &mut Connection, id: &str, value: u64) -> anyhow::Result<()> {
    let found = call(connection, id, "value[0]").await?;
    ensure!(found == json!(value), "the variable is {found} instead of {value}");
    ask(connection, Method::DELETE, &format!("/v1/sessions/{id}"), Json::Null).await?;
    Ok(())
}

async fn check_checkpoint(connection: &mut Connection, id: &str) -> anyhow::Result<()> {
    let session = ask(connection, Method::POST, "/v1/sessions", json!({"from_checkpoint": id})).await?;
    check(connection, &id_of(&session)?, SAVED).await?;
    ask(connection, Method::DELETE, &format!("/v1/checkpoints/{id}"), Json::Null).await?;
    Ok(())
}

/// Runs code in a session; returns its result.
async fn call(connection: &mut Connection, id: &str, code: &str) -> anyhow::Result<Json> {
    let path = format!("/v1/sessions/{id}/execute");
    let mut answer = ask(connection, Method::POST, &path, json!({"code": code})).await?;
    ensure!(answer["status"] == "ok", "{code:?} ended with {}", answer["error"]);
    Ok(answer["result"].take())
}

fn id_of(answer: &Json) -> anyhow::Result<String> {
    Ok(answer["id"].as_str().context("the answer has no id")?.to_owned())
}

async fn ask(connection: &mut Connection, method: Method, path: &str, body: Json) -> anyhow::Result<Json> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    for _ in 0..MAX_TRIES {
        let reply = connection.call(method.clone(), path, body.clone().into()).await?;
        if reply.status == StatusCode::TOO_MANY_REQUESTS {
            tokio::time::sleep(Duration::from_secs(reply.retry_after.unwrap_or(1))).await;
            continue;
        }
        let shown = String::from_utf8_lossy(&reply.body[..reply.body.len().min(200)]).into_owned();
        ensure!(reply.status.is_success(), "{method} {path}: {} {shown:?}", reply.status);
        if reply.body.is_empty() {
            return Ok(Json::Null);
        }
        return serde_json::from_slice(&reply.body).with_context(|| format!("{method} {path}: {shown:?}"));
    }
    bail!("{method} {path}: refused {MAX_TRIES} times")
}
