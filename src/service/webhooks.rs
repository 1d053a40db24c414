//! Webhooks: addresses of owners that are told what becomes of their sessions.
//!
//! What is to be told waits in the store, bounded for each webhook, until its receiver has taken it or the last attempt
//! has failed. Requests keep to the bounds of callbacks at the end of jobs: they go only to hosts that the operator
//! allows, follow no redirect, and only the status of the answer is read.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use url::Url;
use uuid::Uuid;

use super::jobs::{DELAYS, http_client, jittered, request_failure};
use super::sessions::{LifecycleEvent, LifecycleKind, owner_name};
use super::{BackgroundTasks, CallbackRefused, CallbackSettings, Keys};
use crate::metrics::Metrics;
use proofbox_store::{Delivery, Due, DueDelivery, Store, StoreError, WebhookRow};
use proofbox_types::caller::Caller;
use proofbox_types::ids::{KeyId, WebhookId};

/// Webhooks of one owner.
const MAX_WEBHOOKS: usize = 20;
/// Length of a webhook's name, in bytes.
const MAX_NAME: usize = 200;
/// Length of a secret, in bytes.
const MAX_SECRET: usize = 256;
/// Deliveries that wait for one webhook; the oldest go.
const MAX_WAITING: usize = 1000;
/// Events that wait to be stored; beyond it they are dropped.
const MAX_EVENTS: usize = 10_000;
/// Deliveries that are tried at once, in all and of one owner; of one webhook there is one.
const AT_ONCE: usize = 64;
const AT_ONCE_OF_OWNER: usize = 4;
/// Webhooks that are looked at together.
const MAX_DUE: usize = 1000;
/// Interval at which the store is asked for deliveries that are due.
const LOOK: Duration = Duration::from_millis(500);

/// Form in which events are told.
pub trait WebhookWire: Send + Sync {
    /// Renders an event for the owner of this name.
    fn document(&self, event: &LifecycleEvent, owner: &str) -> Vec<u8>;

    /// Returns the headers of an attempt, with the signature of the body.
    fn headers(&self, webhook: WebhookId, attempt: Uuid, secret: &str, body: &[u8]) -> Vec<(&'static str, String)>;
}

/// Webhook as its owner sees it: without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookInfo {
    /// Id of the webhook.
    pub id: WebhookId,
    /// Name given by the client.
    pub name: String,
    /// Address that is told.
    pub url: String,
    /// False while nothing is told.
    pub enabled: bool,
    /// Kinds of events that are told.
    pub kinds: Vec<LifecycleKind>,
    /// Time at which the webhook was made.
    pub created: Timestamp,
}

/// Properties of a webhook that a client sets; those that are absent stay.
#[derive(Clone, Debug, Default)]
pub struct WebhookChange {
    /// Name of the webhook.
    pub name: Option<String>,
    /// Address that is told.
    pub url: Option<String>,
    /// False to tell nothing.
    pub enabled: Option<bool>,
    /// Kinds of events that are told.
    pub kinds: Option<Vec<LifecycleKind>>,
    /// Secret that deliveries are signed with.
    pub secret: Option<String>,
}

/// Reason why a request about a webhook fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    /// Webhook that does not exist, or belongs to another key.
    #[error("there is no such webhook")]
    NotFound,
    /// Property that is missing or can't be.
    #[error("{0}")]
    Malformed(String),
    /// Address that is not allowed.
    #[error("url: {0}")]
    Address(#[from] CallbackRefused),
    /// Webhook beyond the maximum number.
    #[error("a key may have {allowed} webhooks")]
    TooMany {
        /// Maximum number of webhooks.
        allowed: usize,
    },
    /// Service without a store.
    #[error("this service has no store, and so no webhooks: set PROOFBOX_DATA_DIR")]
    NoStore,
    /// Disk of the store that is full.
    #[error("no room is left on the disk of the store")]
    DiskFull,
    /// The store failed; the cause is in the log.
    #[error("the store failed; the request may be sent again")]
    Store,
}

impl From<StoreError> for WebhookError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::TooManyWebhooks { allowed } => Self::TooMany { allowed },
            StoreError::Full => Self::DiskFull,
            error => {
                tracing::error!(%error, "the store failed at a webhook");
                Self::Store
            }
        }
    }
}

/// Event with the owner of its session.
type OwnedEvent = (Option<KeyId>, LifecycleEvent);

/// Keeps webhooks, and tells them what becomes of sessions.
pub struct WebhookManager {
    pub(super) keys: Arc<Keys>,
    pub(super) store: Option<Arc<Store>>,
    pub(super) background: BackgroundTasks,
    pub(super) metrics: Arc<Metrics>,
    /// Bounds of callbacks, which webhooks keep to; none where they are not allowed.
    pub(super) callbacks: Option<Arc<CallbackSettings>>,
    pub(super) wire: Arc<dyn WebhookWire>,
    pub(super) table: WebhookTable,
    pub(super) events: EventQueue,
}

/// Webhooks of each owner, as they are in the store.
#[derive(Default)]
pub(super) struct WebhookTable {
    all: Mutex<HashMap<Option<KeyId>, BTreeMap<WebhookId, WebhookRow>>>,
    /// Held while a webhook is changed in the store and in the table.
    changing: tokio::sync::Mutex<()>,
}

impl WebhookTable {
    fn all(&self) -> MutexGuard<'_, HashMap<Option<KeyId>, BTreeMap<WebhookId, WebhookRow>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, owner: Option<KeyId>, id: WebhookId) -> Result<WebhookRow, WebhookError> {
        self.all().get(&owner).and_then(|webhooks| webhooks.get(&id)).cloned().ok_or(WebhookError::NotFound)
    }
}

/// Events on their way to the store.
pub(super) struct EventQueue {
    sender: mpsc::Sender<OwnedEvent>,
    /// Receiver of the events, until the task that stores them takes it.
    waiting: Mutex<Option<mpsc::Receiver<OwnedEvent>>>,
    /// Notified when something is to be told.
    stored: Notify,
}

impl Default for EventQueue {
    fn default() -> Self {
        let (sender, waiting) = mpsc::channel(MAX_EVENTS);
        Self { sender, waiting: Mutex::new(Some(waiting)), stored: Notify::new() }
    }
}

fn now() -> i64 {
    Timestamp::now().as_millisecond()
}

fn info_of(row: &WebhookRow) -> WebhookInfo {
    WebhookInfo {
        id: row.id.into(),
        name: row.name.clone(),
        url: row.url.clone(),
        enabled: row.enabled,
        kinds: LifecycleKind::ALL.iter().copied().filter(|kind| row.kinds & kind.bit() != 0).collect(),
        created: Timestamp::from_millisecond(row.created_at).unwrap_or(Timestamp::UNIX_EPOCH),
    }
}

/// Sets the properties that a client gives.
fn apply(row: &mut WebhookRow, change: WebhookChange) -> Result<(), WebhookError> {
    let WebhookChange { name, url, enabled, kinds, secret } = change;
    let malformed = |message: String| Err(WebhookError::Malformed(message));
    if let Some(name) = name {
        if name.len() > MAX_NAME {
            return malformed(format!("name has at most {MAX_NAME} bytes"));
        }
        row.name = name;
    }
    if let Some(kinds) = kinds {
        if kinds.is_empty() {
            return malformed("events names at least one kind of event".to_owned());
        }
        row.kinds = kinds.into_iter().fold(0, |bits, kind| bits | kind.bit());
    }
    if let Some(secret) = secret {
        if !(1..=MAX_SECRET).contains(&secret.len()) {
            return malformed(format!("signatureSecret has 1 to {MAX_SECRET} bytes"));
        }
        row.secret = secret;
    }
    row.url = url.unwrap_or_else(|| std::mem::take(&mut row.url));
    row.enabled = enabled.unwrap_or(row.enabled);
    Ok(())
}

/// Returns whether a webhook is to be told of events of that kind.
fn wants(row: &WebhookRow, kind: LifecycleKind) -> bool {
    row.enabled && row.kinds & kind.bit() != 0
}

impl WebhookManager {
    fn store(&self) -> Result<&Store, WebhookError> {
        self.store.as_deref().ok_or(WebhookError::NoStore)
    }

    /// Parses the address of a webhook, if it may be told.
    fn address(&self, url: &str) -> Result<Url, CallbackRefused> {
        self.callbacks.as_ref().ok_or(CallbackRefused::NoneAllowed)?.admit(url)
    }

    /// Makes a webhook of the caller, which is told from now on.
    ///
    /// # Errors
    /// Returns an error for an address that is not allowed, or a property that is missing or can't be.
    pub async fn create(&self, caller: &Caller, change: WebhookChange) -> Result<WebhookInfo, WebhookError> {
        let malformed = |message: &str| Err(WebhookError::Malformed(message.to_owned()));
        let Some(url) = &change.url else { return malformed("url is missing") };
        if change.kinds.is_none() {
            return malformed("events is missing");
        }
        if change.secret.is_none() {
            return malformed("signatureSecret is missing: deliveries are signed with it");
        }
        self.address(url)?;
        let mut row = WebhookRow {
            id: WebhookId::generate().uuid(),
            owner: owner_name(caller.owner()),
            name: String::new(),
            url: String::new(),
            secret: String::new(),
            enabled: true,
            kinds: 0,
            created_at: now(),
        };
        apply(&mut row, change)?;
        let _changing = self.table.changing.lock().await;
        self.put(caller.owner(), row).await
    }

    /// Changes a webhook of the caller. What waits for it goes to where it is then.
    ///
    /// # Errors
    /// Returns an error when the caller has no such webhook, and those of [`Self::create`].
    pub async fn change(
        &self,
        caller: &Caller,
        id: WebhookId,
        change: WebhookChange,
    ) -> Result<WebhookInfo, WebhookError> {
        let _changing = self.table.changing.lock().await;
        let mut row = self.table.find(caller.owner(), id)?;
        if let Some(url) = &change.url {
            self.address(url)?;
        }
        apply(&mut row, change)?;
        self.put(caller.owner(), row).await
    }

    /// Lists the webhooks of the caller, the oldest first.
    pub fn list(&self, caller: &Caller) -> Vec<WebhookInfo> {
        let table = self.table.all();
        table.get(&caller.owner()).into_iter().flat_map(BTreeMap::values).map(info_of).collect()
    }

    /// Describes a webhook of the caller.
    ///
    /// # Errors
    /// Returns an error when the caller has no such webhook.
    pub fn info(&self, caller: &Caller, id: WebhookId) -> Result<WebhookInfo, WebhookError> {
        self.table.find(caller.owner(), id).map(|row| info_of(&row))
    }

    /// Removes a webhook of the caller, with what waits for it.
    ///
    /// # Errors
    /// Returns an error when the caller has no such webhook.
    pub async fn remove(&self, caller: &Caller, id: WebhookId) -> Result<(), WebhookError> {
        let _changing = self.table.changing.lock().await;
        self.table.find(caller.owner(), id)?;
        self.store()?.delete_webhook(id.uuid()).await?;
        if let Some(webhooks) = self.table.all().get_mut(&caller.owner()) {
            webhooks.remove(&id);
        }
        Ok(())
    }

    /// Reads the webhooks that an earlier service has left in the store.
    ///
    /// # Errors
    /// Returns an error when the store can't be read.
    pub async fn recall(&self) -> Result<(), WebhookError> {
        let Ok(store) = self.store() else { return Ok(()) };
        let mut after = None;
        loop {
            let rows = store.list_webhooks(None, after).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = Some(last.id);
            let mut table = self.table.all();
            for row in rows {
                table.entry(KeyId::parse(&row.owner)).or_default().insert(row.id.into(), row);
            }
        }
    }

    /// Starts the task that stores events for the webhooks, and delivers those that are due.
    pub fn start(self: &Arc<Self>) {
        let events = self.events.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(events) = events.filter(|_| self.store.is_some()) else { return };
        let manager = Arc::clone(self);
        self.background.spawn(async move {
            let stopping = manager.background.stopping().clone();
            tokio::join!(
                stopping.run_until_cancelled(manager.store_events(events)),
                stopping.run_until_cancelled(manager.deliver_events()),
            );
        });
    }

    /// Notes an event, if a webhook of the owner is to be told of it.
    pub(super) fn note(&self, owner: Option<KeyId>, event: &LifecycleEvent) {
        let kind = event.change.kind();
        let is_wanted = self.table.all().get(&owner).is_some_and(|rows| rows.values().any(|row| wants(row, kind)));
        if is_wanted && self.events.sender.try_send((owner, event.clone())).is_err() {
            self.count_deliveries("dropped", 1);
        }
    }

    async fn put(&self, owner: Option<KeyId>, row: WebhookRow) -> Result<WebhookInfo, WebhookError> {
        self.store()?.put_webhook(row.clone(), MAX_WEBHOOKS).await?;
        let info = info_of(&row);
        self.table.all().entry(owner).or_default().insert(info.id, row);
        Ok(info)
    }

    /// Queues an event for the webhooks that are to be told of it.
    async fn queue(&self, (owner, event): OwnedEvent) -> Result<usize, WebhookError> {
        let kind = event.change.kind();
        let webhooks: Vec<Uuid> = {
            let table = self.table.all();
            table
                .get(&owner)
                .into_iter()
                .flat_map(BTreeMap::values)
                .filter(|row| wants(row, kind))
                .map(|row| row.id)
                .collect()
        };
        let body = self.wire.document(&event, &owner_name(owner));
        let mut dropped = 0;
        for webhook in webhooks {
            let delivery = Delivery { id: Uuid::now_v7(), body: body.clone(), attempts: 0, next_at: now() };
            // One that fails takes nothing from the others.
            match self.store()?.queue_delivery(webhook, delivery, MAX_WAITING).await {
                Ok(displaced) => dropped += displaced,
                Err(error) => {
                    tracing::warn!(%webhook, %error, "an event could not be stored for a webhook");
                    dropped += 1;
                }
            }
        }
        self.events.stored.notify_one();
        Ok(dropped)
    }

    async fn store_events(&self, mut events: mpsc::Receiver<OwnedEvent>) {
        while let Some(event) = events.recv().await {
            match self.queue(event).await {
                Ok(dropped) => self.count_deliveries("dropped", dropped),
                Err(error) => {
                    tracing::warn!(%error, "an event could not be stored for webhooks");
                    self.count_deliveries("dropped", 1);
                }
            }
        }
    }

    fn count_deliveries(&self, outcome: &str, count: usize) {
        self.metrics.webhook_deliveries.with_label_values(&[outcome]).inc_by(count as u64);
    }

    async fn deliver_events(self: &Arc<Self>) {
        let Ok(store) = self.store() else { return };
        let client = match http_client() {
            Ok(client) => client,
            Err(error) => {
                tracing::error!(%error, "there is no HTTP client for webhooks");
                return;
            }
        };
        let mut deliveries: JoinSet<(Uuid, String)> = JoinSet::new();
        let (mut under_way, mut owners) = (HashSet::new(), HashMap::<String, usize>::new());
        loop {
            // Where nothing more can begin, nothing is read.
            let due = if deliveries.len() < AT_ONCE {
                store.due_deliveries(now(), MAX_DUE).await
            } else {
                Ok(Due::default())
            };
            match due {
                Ok(Due { deliveries: due, damaged }) => {
                    for id in damaged {
                        tracing::error!(%id, "a delivery to a webhook is damaged in the store, and dropped");
                        self.count_deliveries("dropped", 1);
                        if let Err(error) = self.forget_delivery(id).await {
                            tracing::error!(%id, %error, "a delivery to a webhook could not be dropped");
                        }
                    }
                    for due in due {
                        let owner = due.webhook.owner.clone();
                        let is_full = deliveries.len() >= AT_ONCE
                            || owners.get(&owner).is_some_and(|count| *count >= AT_ONCE_OF_OWNER);
                        if !is_full && under_way.insert(due.webhook.id) {
                            *owners.entry(owner.clone()).or_default() += 1;
                            let (manager, client, webhook) = (Arc::clone(self), client.clone(), due.webhook.id);
                            deliveries.spawn(async move {
                                manager.deliver_event(&client, due).await;
                                (webhook, owner)
                            });
                        }
                    }
                }
                Err(error) => tracing::error!(%error, "deliveries to webhooks can't be read"),
            }
            let ended = tokio::select! {
                Some(ended) = deliveries.join_next() => ended.ok(),
                () = self.events.stored.notified() => None,
                () = tokio::time::sleep(LOOK) => None,
            };
            if let Some((webhook, owner)) = ended {
                under_way.remove(&webhook);
                if let Some(count) = owners.get_mut(&owner) {
                    *count -= 1;
                }
                owners.retain(|_, count| *count > 0);
            }
        }
    }

    async fn deliver_event(&self, client: &reqwest::Client, DueDelivery { webhook, mut delivery }: DueDelivery) {
        // A key that was revoked has nothing to be told any more.
        let is_wanted = webhook.enabled && self.keys.caller_of(KeyId::parse(&webhook.owner)).is_some();
        let outcome = if is_wanted { self.try_delivery(client, &webhook, &delivery).await } else { Ok("dropped") };
        delivery.attempts += 1;
        let (word, noted) = match outcome {
            Ok(word) => (word, self.forget_delivery(delivery.id).await),
            Err(reason) => {
                tracing::info!(webhook = %webhook.id, attempts = delivery.attempts, reason, "a delivery to a webhook failed");
                match DELAYS.get(delivery.attempts as usize - 1) {
                    Some(seconds) => {
                        delivery.next_at = now() + jittered(*seconds);
                        ("failed", self.postpone_delivery(delivery).await)
                    }
                    None => ("given_up", self.forget_delivery(delivery.id).await),
                }
            }
        };
        self.count_deliveries(word, 1);
        if let Err(error) = noted {
            tracing::error!(webhook = %webhook.id, %error, "a delivery to a webhook could not be noted");
            // It would be due again at once.
            tokio::time::sleep(Duration::from_secs(DELAYS[1])).await;
        }
    }

    async fn forget_delivery(&self, id: Uuid) -> Result<(), WebhookError> {
        Ok(self.store()?.forget_delivery(id).await?)
    }

    async fn postpone_delivery(&self, delivery: Delivery) -> Result<(), WebhookError> {
        Ok(self.store()?.postpone_delivery(delivery).await?)
    }

    /// Sends an event once; returns what is counted, or the reason why it is to be tried again.
    async fn try_delivery(
        &self,
        client: &reqwest::Client,
        webhook: &WebhookRow,
        delivery: &Delivery,
    ) -> Result<&'static str, String> {
        // The operator may have changed the hosts since.
        let Ok(url) = self.address(&webhook.url) else { return Ok("given_up") };
        let headers = self.wire.headers(webhook.id.into(), Uuid::now_v7(), &webhook.secret, &delivery.body);
        let request = client.post(url).header("content-type", "application/json").body(delivery.body.clone());
        let request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
        match request.send().await {
            Ok(answer) if answer.status().is_success() => Ok("delivered"),
            // Gone: nothing more is wanted there.
            Ok(answer) if answer.status().as_u16() == 410 => Ok("given_up"),
            Ok(answer) => Err(format!("it answered {}", answer.status().as_u16())),
            Err(error) => Err(request_failure(&error).to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::LifecycleChange;
    use proofbox_store::DiskReserve;
    use proofbox_types::ids::SessionId;

    struct Plain;

    impl WebhookWire for Plain {
        fn document(&self, _: &LifecycleEvent, owner: &str) -> Vec<u8> {
            owner.as_bytes().to_vec()
        }

        fn headers(&self, _: WebhookId, _: Uuid, _: &str, _: &[u8]) -> Vec<(&'static str, String)> {
            Vec::new()
        }
    }

    fn event(change: LifecycleChange) -> LifecycleEvent {
        let (id, at, session) = (Uuid::now_v7(), Timestamp::now(), SessionId::generate());
        LifecycleEvent { id, at, session, template: String::new(), change }
    }

    fn row() -> WebhookRow {
        WebhookRow {
            id: WebhookId::generate().uuid(),
            owner: owner_name(None),
            name: String::new(),
            url: "http://127.0.0.1/".to_owned(),
            secret: "s".to_owned(),
            enabled: true,
            kinds: LifecycleKind::Paused.bit(),
            created_at: 0,
        }
    }

    #[tokio::test]
    async fn only_what_is_wanted_waits_and_not_without_end() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::open(&directory.path().join("store"), DiskReserve::Bytes(0)).await.expect("a store");
        let store = Arc::new(store);
        let metrics = Arc::new(Metrics::new());
        let manager = WebhookManager {
            keys: Arc::new(Keys::none(Arc::clone(&metrics))),
            store: Some(Arc::clone(&store)),
            background: BackgroundTasks::default(),
            metrics: Arc::clone(&metrics),
            callbacks: None,
            wire: Arc::new(Plain),
            table: WebhookTable::default(),
            events: EventQueue::default(),
        };
        let dropped = || metrics.webhook_deliveries.with_label_values(&["dropped"]).get();
        let mut waiting = manager.events.waiting.lock().expect("no panic").take().expect("it is there");
        let other = Some(KeyId::generate());
        manager.note(None, &event(LifecycleChange::Paused));
        assert!(waiting.try_recv().is_err(), "nobody wants it");
        manager.put(None, row()).await.expect("room");
        let disabled = WebhookRow { enabled: false, ..row() };
        manager.put(None, disabled).await.expect("room");
        manager.note(None, &event(LifecycleChange::Created));
        manager.note(other, &event(LifecycleChange::Paused));
        assert!(waiting.try_recv().is_err());
        manager.note(None, &event(LifecycleChange::Paused));
        let noted = waiting.try_recv().expect("it is wanted");
        assert_eq!(manager.queue(noted).await, Ok(0));
        let due = store.due_deliveries(i64::MAX, 9).await.expect("a list").deliveries;
        assert_eq!((due.len(), due[0].delivery.body.as_slice()), (1, b"keyless".as_slice()));
        (0..MAX_EVENTS).for_each(|_| manager.note(None, &event(LifecycleChange::Paused)));
        assert_eq!(dropped(), 0);
        manager.note(None, &event(LifecycleChange::Paused));
        assert_eq!(dropped(), 1, "one more is dropped");
    }

    #[test]
    fn properties_that_can_not_be_are_refused() {
        let refused = |change| apply(&mut row(), change).is_err();
        assert!(refused(WebhookChange { name: Some("x".repeat(MAX_NAME + 1)), ..WebhookChange::default() }));
        assert!(refused(WebhookChange { kinds: Some(Vec::new()), ..WebhookChange::default() }));
        assert!(refused(WebhookChange { secret: Some(String::new()), ..WebhookChange::default() }));
        assert!(refused(WebhookChange { secret: Some("x".repeat(MAX_SECRET + 1)), ..WebhookChange::default() }));
        let mut changed = row();
        let change = WebhookChange { enabled: Some(false), ..WebhookChange::default() };
        apply(&mut changed, change).expect("right");
        assert_eq!(changed, WebhookRow { enabled: false, id: changed.id, ..row() }, "the rest stays");
    }
}
