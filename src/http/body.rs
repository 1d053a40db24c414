//! Request bodies: read in pieces, and parsed apart from the threads that serve all requests, in memory that is leased.
//!
//! A body holds its memory from its first large piece until the answer has been sent. A request that would wait for
//! memory longer than [`PATIENCE`] is refused.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::Extensions;
use axum::http::header::CONTENT_LENGTH;
use axum::middleware::Next;
use axum::response::Response;
use futures_util::StreamExt;
use http_body::{Frame, SizeHint};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use super::AppState;
use super::error::ApiError;
use proofbox_memory::{Account, Budget, Full, JsonCost, Lease, TooManyValues, count_values};
use proofbox_types::caller::Caller;

/// Size up to which bodies are parsed at once, in bytes: that takes at most a millisecond or two.
const SMALL: usize = 64 << 10;
/// Size up to which bodies are not counted, in bytes: connections bound how many there are.
const TINY: usize = 4 << 10;
/// Memory for small bodies, in bytes: large ones do not keep them waiting.
const SMALL_BUDGET: usize = 256 << 20;
/// Memory for the text of larger bodies, in bytes.
const TEXT_BUDGET: usize = 1 << 30;
/// Memory for large answers, in bytes: apart, so that no request waits for it with memory that others wait for.
const ANSWERS_BUDGET: usize = 1 << 30;
/// Most memory that one answer holds, in bytes, however large it is: less than the share of one key.
const MAX_ANSWER_BYTES: usize = ANSWERS_BUDGET / 4;
/// Memory for parsed values, in bytes: apart, so that bodies that wait for it don't hold it from each other. Half of
/// it, the share that one key may hold, is enough for as many values as one request may have, and as many copies.
const VALUES_BUDGET: usize = 1 << 30;
/// Memory for a body of unannounced length, in bytes, to begin with; then it doubles.
const STEP: usize = 256 << 10;
/// Longest time that a request waits for memory, and for its turn to be parsed, in all.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest time that the rest of a refused body is read.
const UNREAD_PATIENCE: Duration = Duration::from_secs(10);
/// Slowest pace of a large body, in bytes a second, once it has had [`HEAD_START`]: it holds memory meanwhile.
const SLOWEST: u64 = 256 << 10;
const HEAD_START: Duration = Duration::from_secs(30);
/// Size of the largest body where no router sets it, in bytes: in tests.
#[cfg(test)]
const TEST_BYTES: usize = 32 << 20;

/// Budgets that all bodies of a service share.
pub(super) struct BodyBudgets {
    small: Budget,
    text: Budget,
    values: Budget,
    answers: Budget,
    /// Bodies that are parsed, and large answers that are made, at once.
    parsers: Semaphore,
    /// Size of the largest body, in bytes.
    most: usize,
}

impl BodyBudgets {
    /// Makes the budgets for bodies up to `most` bytes.
    pub(super) fn new(most: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            small: Budget::new(SMALL_BUDGET),
            text: Budget::new(TEXT_BUDGET),
            values: Budget::new(VALUES_BUDGET),
            answers: Budget::new(ANSWERS_BUDGET),
            // The other cores serve who sends little.
            parsers: Semaphore::new((cores / 2).max(1)),
            most,
        }
    }
}

/// Refusal of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BodyError {
    /// The body has too many bytes.
    #[error("the request body is larger than this service accepts")]
    TooLarge,
    /// The body has too many JSON values.
    #[error(transparent)]
    TooManyValues(#[from] TooManyValues),
    /// The body ended in the middle.
    #[error("the request body could not be read")]
    Broken,
    /// The body takes too long to come.
    #[error("the request body comes too slowly")]
    TooSlow,
    /// Memory for the body that is not free now.
    #[error(transparent)]
    Full(#[from] Full),
    /// Internal failure of the service.
    #[error("the service failed; the request may be sent again")]
    Internal,
}

/// Memory of one request: none before its body is read. Clones are of the same.
#[derive(Clone)]
pub(super) struct RequestMemory(Arc<Lent>);

struct Lent {
    budgets: Arc<BodyBudgets>,
    state: Mutex<Holding>,
}

#[derive(Default)]
struct Holding {
    /// Lease for a small body, or for the text of a large one.
    text: Option<Lease>,
    values: Option<Lease>,
    /// Lease for a large answer.
    answer: Option<Lease>,
    /// Copies that were made of what was read.
    copies: Option<JsonCost>,
    /// Time that the request has waited.
    waited: Duration,
}

/// Lease of a request.
type Slot = fn(&mut Holding) -> &mut Option<Lease>;

const TEXT: Slot = |holding| &mut holding.text;
const VALUES: Slot = |holding| &mut holding.values;

impl RequestMemory {
    /// Memory of a request that holds none yet.
    pub(super) fn new(budgets: Arc<BodyBudgets>) -> Self {
        Self(Arc::new(Lent { budgets, state: Mutex::default() }))
    }

    /// Memory that was lent to a request.
    ///
    /// # Errors
    /// Returns an error when the request bypassed the router.
    fn of(extensions: &Extensions) -> Result<Self, BodyError> {
        match extensions.get::<Self>() {
            Some(memory) => Ok(memory.clone()),
            #[cfg(test)]
            None => Ok(Self::new(Arc::new(BodyBudgets::new(TEST_BYTES)))),
            #[cfg(not(test))]
            None => Err(BodyError::Internal),
        }
    }

    fn state(&self) -> MutexGuard<'_, Holding> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_empty(&self) -> bool {
        let state = self.state();
        [&state.text, &state.values, &state.answer].into_iter().flatten().all(Lease::is_empty)
    }

    /// Runs `work` in the time that the request has left to wait, up to `PATIENCE` in all.
    async fn within<T>(&self, work: impl Future<Output = T>) -> Result<T, Full> {
        let began = Instant::now();
        let left = PATIENCE.saturating_sub(self.state().waited);
        let done = timeout(left, work).await.map_err(|_| Full);
        self.state().waited += began.elapsed();
        done
    }

    /// Holds at least `bytes`, of `budget` where nothing is held yet.
    async fn grow(&self, slot: Slot, budget: &Account, bytes: usize) -> Result<(), Full> {
        let lease = slot(&mut self.state()).take();
        let mut lease = lease.unwrap_or_else(|| budget.lease());
        let grown = self.within(lease.grow(bytes)).await;
        *slot(&mut self.state()) = Some(lease);
        grown
    }

    fn shrink(&self, slot: Slot, bytes: usize) {
        if let Some(lease) = slot(&mut self.state()) {
            lease.shrink(bytes);
        }
    }
}

/// Reader of a request's bodies, in its memory.
#[derive(Clone)]
pub(super) struct BodyReader {
    memory: RequestMemory,
    caller: Option<Caller>,
}

impl BodyReader {
    /// Makes the reader of a request with these extensions.
    ///
    /// # Errors
    /// Returns an error when the request bypassed the router.
    pub(super) fn of(extensions: &Extensions) -> Result<Self, BodyError> {
        let caller = extensions.get::<Caller>().cloned();
        Ok(Self { memory: RequestMemory::of(extensions)?, caller })
    }

    /// Returns a reader with memory of its own, for one message of a connection: what it holds is given back with it.
    pub(super) fn for_message(&self) -> Self {
        Self { memory: RequestMemory::new(Arc::clone(&self.memory.0.budgets)), caller: self.caller.clone() }
    }

    /// Holds memory for so many bytes of text. Small bodies hold none: the number of connections bounds them.
    ///
    /// # Errors
    /// Returns an error when no memory is free in time.
    pub(super) async fn hold(&self, bytes: usize) -> Result<(), BodyError> {
        if bytes <= SMALL {
            return Ok(());
        }
        Ok(self.memory.grow(TEXT, &self.account(&self.memory.0.budgets.text), JsonCost::new(bytes, 0).text()).await?)
    }

    fn account(&self, budget: &Budget) -> Account {
        budget.account(self.caller.as_ref().and_then(Caller::owner))
    }

    /// Reads a whole body. One that there is no memory for is read to its end and thrown away: clients listen only once
    /// they have sent.
    async fn whole(&self, body: Body, announced: Option<usize>) -> Result<Bytes, BodyError> {
        let mut pieces = body.into_data_stream();
        let read = self.joined(&mut pieces, announced).await;
        if let Err(BodyError::Full(_)) = read {
            let rest = async { while let Some(Ok(_)) = pieces.next().await {} };
            let _ = timeout(UNREAD_PATIENCE, rest).await;
        }
        read
    }

    async fn joined(&self, pieces: &mut BodyDataStream, announced: Option<usize>) -> Result<Bytes, BodyError> {
        let began = Instant::now();
        let mut first = Bytes::new();
        let mut joined = Vec::new();
        let (mut length, mut held) = (0_usize, 0);
        let most = self.memory.0.budgets.most;
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|_| BodyError::Broken)?;
            length = length.saturating_add(piece.len());
            if length > most {
                return Err(BodyError::TooLarge);
            }
            if length > SMALL {
                if length > held {
                    // Who waits for more while holding some may wait for others who do the same: so all is asked for at
                    // once, where it is known.
                    held = announced.unwrap_or(0).max(length.next_power_of_two()).max(STEP).min(most);
                    self.hold(held).await?;
                }
                let waited = self.memory.state().waited;
                let due = HEAD_START + waited + Duration::from_secs(length as u64 / SLOWEST);
                if began.elapsed() > due {
                    return Err(BodyError::TooSlow);
                }
            }
            if length == piece.len() {
                first = piece;
                continue;
            }
            if joined.is_empty() {
                joined.extend_from_slice(&first);
            }
            joined.extend_from_slice(&piece);
        }
        if joined.is_empty() { Ok(first) } else { Ok(joined.into()) }
    }

    /// Parses JSON: a whole body, or a message of it. Large ones are parsed on threads of their own.
    ///
    /// # Errors
    /// Returns an error when it has too many values, or there is no memory for it; else what `read` says.
    pub(super) async fn parse<T, E>(
        &self,
        bytes: Bytes,
        read: impl FnOnce(&[u8]) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<BodyError> + Send + 'static,
    {
        let length = bytes.len();
        if length <= TINY {
            return read(&bytes);
        }
        if length > SMALL {
            return self.parse_apart(bytes, read).await;
        }
        let cost = JsonCost::new(length, count_values(&bytes).map_err(BodyError::from)?);
        let account = self.account(&self.memory.0.budgets.small);
        self.memory.grow(TEXT, &account, cost.parsing()).await.map_err(BodyError::from)?;
        let parsed = read(&bytes);
        self.memory.shrink(TEXT, cost.parsed_bytes());
        parsed
    }

    /// Parses JSON on a thread of its own, however small it is.
    ///
    /// # Errors
    /// Returns the errors of [`BodyReader::parse`].
    pub(super) async fn parse_apart<T, E>(
        &self,
        bytes: Bytes,
        read: impl FnOnce(&[u8]) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<BodyError> + Send + 'static,
    {
        let text = bytes.clone();
        let values = self.in_turn(move || count_values(&text)).await?.map_err(BodyError::from)?;
        let cost = JsonCost::new(bytes.len(), values);
        let budgets = &self.memory.0.budgets;
        self.memory.grow(TEXT, &self.account(&budgets.text), cost.text()).await.map_err(BodyError::from)?;
        self.memory.grow(VALUES, &self.account(&budgets.values), cost.values()).await.map_err(BodyError::from)?;
        let parsed = self.in_turn(move || read(&bytes)).await?;
        let (text, values) = {
            let copies = self.memory.state().copies;
            copies.map_or((0, 0), |copies| (copies.copy_text(), copies.parsed_values()))
        };
        self.memory.shrink(TEXT, cost.parsed_text().saturating_add(text));
        self.memory.shrink(VALUES, cost.parsed_values().saturating_add(values));
        parsed
    }

    /// Runs `work` on a blocking thread, after waiting for a free parser. The time of `work` itself does not count as
    /// waiting.
    async fn in_turn<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, BodyError> {
        let _turn = self.memory.within(self.memory.0.budgets.parsers.acquire()).await?;
        tokio::task::spawn_blocking(work).await.map_err(|_| BodyError::Internal)
    }

    /// Makes something of a request or of what is kept, in the memory of its request: `bytes` is the length of the texts in
    /// it. A large one is made on a thread of its own.
    ///
    /// # Errors
    /// Returns an error when there is no memory for it in time.
    pub(super) async fn make<T: Send + 'static>(
        &self,
        bytes: usize,
        make: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, BodyError> {
        if bytes <= SMALL {
            return Ok(make());
        }
        self.hold(bytes).await?;
        self.in_turn(make).await
    }

    /// Makes an answer, or a piece of one, in the memory of its request: `bytes` is the length of the texts in it. A large
    /// one is made on a thread of its own, for which it waits as long as it takes. It waits for memory, too, but goes
    /// without it after [`PATIENCE`]: what it tells of has been done, and a client that is refused would do it again.
    ///
    /// # Errors
    /// Returns an error when `make` panics.
    pub(super) async fn answer<T: Send + 'static>(
        &self,
        bytes: usize,
        make: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, BodyError> {
        if bytes <= SMALL {
            return Ok(make());
        }
        // What it is made of, and the text itself.
        let held = bytes.saturating_mul(2).min(MAX_ANSWER_BYTES);
        let mut lease = self.account(&self.memory.0.budgets.answers).lease();
        let _ = timeout(PATIENCE, lease.grow(held)).await;
        self.memory.state().answer = Some(lease);
        let _turn = self.memory.0.budgets.parsers.acquire().await;
        tokio::task::spawn_blocking(make).await.map_err(|_| BodyError::Internal)
    }

    /// Holds memory for copies of the parsed values, without waiting: the caller blocks other requests.
    ///
    /// # Errors
    /// Returns an error when no memory is free.
    pub(super) fn hold_copies(&self, copies: JsonCost) -> Result<(), BodyError> {
        let budgets = &self.memory.0.budgets;
        let (text, values) = (self.account(&budgets.text), self.account(&budgets.values));
        let mut state = self.memory.state();
        state.copies = Some(copies);
        let lease = state.text.get_or_insert_with(|| text.lease());
        lease.try_grow(lease.bytes().saturating_add(copies.copy_text()))?;
        let lease = state.values.get_or_insert_with(|| values.lease());
        lease.try_grow(lease.bytes().saturating_add(copies.parsed_values()))?;
        Ok(())
    }
}

/// A body that was read, and its memory.
pub(super) struct WholeBody {
    /// Bytes of the whole body.
    pub bytes: Bytes,
    reader: BodyReader,
}

impl WholeBody {
    /// Reads the body of a request, up to the service's limit.
    ///
    /// # Errors
    /// Returns an error when it is not all there, or there is no memory for it.
    pub(super) async fn read(request: Request) -> Result<Self, BodyError> {
        let reader = BodyReader::of(request.extensions())?;
        let announced = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        Ok(Self { bytes: reader.whole(request.into_body(), announced).await?, reader })
    }

    /// Returns the reader that read the body.
    pub(super) fn reader(&self) -> &BodyReader {
        &self.reader
    }

    /// Parses the body as JSON on a thread of its own; see [`BodyReader::parse_apart`].
    ///
    /// # Errors
    /// Returns the errors of that method.
    pub(super) async fn parse_apart<T, E>(
        self,
        read: impl FnOnce(&[u8]) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<BodyError> + Send + 'static,
    {
        let Self { bytes, reader } = self;
        reader.parse_apart(bytes, read).await
    }

    /// Parses the body as JSON; see [`BodyReader::parse`].
    ///
    /// # Errors
    /// Returns the errors of that method.
    pub(super) async fn parse<T, E>(self, read: impl FnOnce(&[u8]) -> Result<T, E> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<BodyError> + Send + 'static,
    {
        let Self { bytes, reader } = self;
        reader.parse(bytes, read).await
    }
}

impl From<BodyError> for ApiError {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge => Self::body_too_large(),
            BodyError::TooManyValues(error) => Self::too_many_values(&error),
            BodyError::Broken | BodyError::TooSlow => Self::malformed(None, error.to_string()),
            BodyError::Full(error) => Self::memory_full(&error),
            BodyError::Internal => Self::internal(),
        }
    }
}

/// Attaches memory to a request until its answer has been sent: answers in pieces still use what the request holds.
pub(super) async fn lend_memory(State(shared): State<AppState>, mut request: Request, next: Next) -> Response {
    let memory = RequestMemory::new(Arc::clone(&shared.bodies));
    request.extensions_mut().insert(memory.clone());
    let response = next.run(request).await;
    if memory.is_empty() {
        return response;
    }
    let (head, body) = response.into_parts();
    Response::from_parts(head, Body::new(Holder { body, _memory: memory }))
}

/// The body of an answer, and what its request holds.
struct Holder {
    body: Body,
    _memory: RequestMemory,
}

impl HttpBody for Holder {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::http::Request as HttpRequest;
    use futures_util::stream;

    use super::*;

    fn reader(most: usize) -> BodyReader {
        BodyReader { memory: RequestMemory::new(Arc::new(BodyBudgets::new(most))), caller: None }
    }

    fn body(pieces: &[&'static [u8]]) -> Body {
        let pieces: Vec<_> = pieces.iter().map(|piece| Ok::<_, Infallible>(Bytes::from_static(piece))).collect();
        Body::from_stream(stream::iter(pieces))
    }

    fn list(values: usize) -> Bytes {
        format!("[{}1]", "1,".repeat(values - 2)).into()
    }

    #[tokio::test]
    async fn a_body_is_what_its_pieces_are() {
        let cases: [&[&'static [u8]]; 5] = [&[], &[b"abc"], &[b"", b"abc"], &[b"a", b"b", b"c"], &[b"a", b"", b"bc"]];
        for pieces in cases {
            let whole = reader(3).whole(body(pieces), None).await;
            assert_eq!(whole, Ok(pieces.concat().into()));
        }
        assert_eq!(reader(2).whole(body(&[b"ab", b"c"]), None).await, Err(BodyError::TooLarge));
    }

    fn held_for_answer(reader: &BodyReader) -> usize {
        reader.memory.state().answer.as_ref().map_or(0, Lease::bytes)
    }

    #[tokio::test]
    async fn a_large_answer_is_made_elsewhere_in_memory_that_is_held() {
        let reader = reader(TEST_BYTES);
        let thread = || std::thread::current().id();
        assert_eq!((reader.answer(SMALL, thread).await, held_for_answer(&reader)), (Ok(thread()), 0));
        assert!(reader.answer(SMALL + 1, thread).await.is_ok_and(|other| other != thread()));
        let held = held_for_answer(&reader);
        assert!(held >= 2 * (SMALL + 1), "{held}");
        // The largest that a policy allows is no more than others have to wait for.
        assert!(reader.answer(400 << 20, || ()).await.is_ok());
        assert_eq!(held_for_answer(&reader), MAX_ANSWER_BYTES);
    }

    /// Else a client would send again what has been done.
    #[tokio::test(start_paused = true)]
    async fn answers_wait_for_memory_and_go_without_it_in_the_end() {
        let first = reader(TEST_BYTES);
        let (other, more) = (first.for_message(), first.for_message());
        assert_eq!(first.answer(400 << 20, || ()).await, Ok(()));
        assert_eq!(other.answer(400 << 20, || ()).await, Ok(()));
        let began = Instant::now();
        assert_eq!(more.answer(SMALL + 1, || ()).await, Ok(()));
        assert!(began.elapsed() >= PATIENCE, "{:?}", began.elapsed());
        drop(other);
        let began = Instant::now();
        assert_eq!(more.answer(SMALL + 1, || ()).await, Ok(()));
        assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    }

    #[tokio::test]
    async fn a_large_body_holds_memory_until_it_is_let_go() {
        let request = HttpRequest::new(Body::from(list(200_000)));
        let whole = WholeBody::read(request).await.expect("a body");
        let memory = whole.reader.memory.clone();
        let (budgets, length) = (Arc::clone(&memory.0.budgets), whole.bytes.len());
        let held = |slot: Slot| slot(&mut memory.state()).as_ref().map_or(0, Lease::bytes);
        assert!(held(TEXT) >= 4 * length, "{}", held(TEXT));
        let seen = memory.clone();
        let during = move || VALUES(&mut seen.state()).as_ref().map_or(0, Lease::bytes);
        let (count, during) =
            whole.parse(move |bytes| Ok::<_, BodyError>((bytes.len(), during()))).await.expect("read");
        assert_eq!(count, length);
        assert!(during >= 300 * 200_000, "{during}");
        let after = (held(TEXT), held(VALUES));
        assert!(after.0 >= 2 * length && after.0 < 3 * length && after.1 > 0 && after.1 < during / 2, "{after:?}");
        drop(memory);
        assert_eq!(budgets.text.account(None).lease().try_grow(TEXT_BUDGET / 2), Ok(()));
        assert_eq!(budgets.values.account(None).lease().try_grow(VALUES_BUDGET / 2), Ok(()));
    }

    #[tokio::test]
    async fn a_body_with_too_many_values_is_not_parsed() {
        let parsed = reader(TEST_BYTES).parse(list(1_000_001), |_| -> Result<(), BodyError> { panic!("parsed") }).await;
        assert_eq!(parsed, Err(BodyError::TooManyValues(TooManyValues)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_for_which_there_is_no_memory_waits_for_so_long_and_is_refused() {
        let reader = reader(TEST_BYTES);
        let mut others = reader.memory.0.budgets.text.account(None).lease();
        others.grow(usize::MAX).await;
        let large = "x".repeat(SMALL + 1);
        assert_eq!(reader.whole(Body::from(large), None).await, Err(BodyError::Full(Full)));
        // A small one does not wait for large ones.
        let small = reader.whole(Body::from("[1]"), None).await.expect("read");
        assert_eq!(reader.parse(small, |bytes| Ok::<_, BodyError>(bytes.len())).await, Ok(3));
    }
}
