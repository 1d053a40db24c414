//! Checkpoints: a session as bytes. Between calls no frame of WebAssembly is on a stack, so the memories of its
//! interpreters and its files are all there is of it (DESIGN, decision 3).
//!
//! Of a memory only the pages are kept that differ from the image, each XORed with the image's, which leaves mostly
//! zeros; all is compressed (zstd). The bytes come back from a store: they are parsed as hostile, and what they make
//! runs in the sandbox like any guest. Whether they are what was written is for whoever keeps them to know.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use super::interpreter::Interpreter;
use super::program::{CommandRunner, SessionContext};
use super::{CONTEXTS, Context, Session, SessionError};
use crate::guest::quota;
use crate::page_reset;
use crate::pagemap::{PAGE, PAGES_AT_ONCE, page_of};
use crate::pool::{InterpreterPool, LoadedImage, Pristine};
use proofbox_types::grant::Limits;
use proofbox_types::session::ContextNumber;
use proofbox_vfs::{DamagedFiles, Descriptors, SandboxFiles, fork_sandbox, save_sandbox};

/// Version of the format: the first byte of a checkpoint.
const FORMAT: u8 = 3;
/// zstd's level: the next ones take longer, and gain a tenth.
const LEVEL: i32 = 1;

/// A checkpoint that can't be made or loaded.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The bytes are not what was once written.
    #[error("the checkpoint is damaged: {0}")]
    Damaged(&'static str),
    /// The checkpoint's files are damaged.
    #[error("the files of the checkpoint are damaged: {0}")]
    Files(#[from] DamagedFiles),
    /// The checkpoint holds more than the limits of the session allow.
    #[error("the checkpoint needs {needed} bytes of memory; the session may have {allowed}")]
    TooLarge {
        /// Memory that the checkpoint needs, in bytes.
        needed: u64,
        /// Memory that the limits allow, in bytes.
        allowed: u64,
    },
    /// The kernel does not tell which pages changed, or the compressor failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

#[derive(Serialize, Deserialize)]
struct Saved {
    env: Vec<(String, String)>,
    files: SandboxFiles,
    contexts: Vec<SavedContext>,
}

#[derive(Serialize, Deserialize)]
struct SavedContext {
    number: ContextNumber,
    cwd: Option<String>,
    calls: u64,
    interpreter: Option<SavedInterpreter>,
}

#[derive(Serialize, Deserialize)]
struct SavedInterpreter {
    memory_bytes: u64,
    stack_pointer: i32,
    uptime: Duration,
    /// Variables that it has not been told of.
    new_env: Vec<(String, String)>,
    /// Numbers of pages, in order.
    pages: Vec<u32>,
    /// Contents of these pages, XORed with the image's.
    #[serde(with = "serde_bytes")]
    contents: Vec<u8>,
}

fn xor(into: &mut [u8], with: &[u8]) {
    for (byte, other) in into.iter_mut().zip(with) {
        *byte ^= other;
    }
}

type Held = OwnedMutexGuard<Option<Interpreter>>;

impl Session {
    /// Waits until all contexts are at rest, and keeps them so.
    async fn hold(&self) -> Vec<(ContextNumber, Arc<Context>, Held)> {
        let contexts: Vec<_> = self.contexts().iter().map(|(number, context)| (*number, Arc::clone(context))).collect();
        let mut held = Vec::with_capacity(contexts.len());
        for (number, context) in contexts {
            let guard = Arc::clone(&context.interpreter).lock_owned().await;
            held.push((number, context, guard));
        }
        held
    }

    /// The session as bytes, when its calls have ended.
    ///
    /// # Errors
    /// Returns an error when the kernel does not tell which pages changed.
    pub async fn save(&self) -> Result<Vec<u8>, SessionError> {
        let pristine = self.session_context.pool.pristine(&self.session_context.image).await?;
        let mut held = self.hold().await;
        let mut contexts = Vec::with_capacity(held.len());
        for (number, context, interpreter) in &mut held {
            let interpreter = match interpreter.as_mut() {
                Some(interpreter) => Some(saved(interpreter, pristine).await?),
                None => None,
            };
            let calls = context.calls.load(Ordering::Relaxed);
            contexts.push(SavedContext { number: *number, cwd: context.cwd.clone(), calls, interpreter });
        }
        let tables: Vec<&Descriptors> =
            held.iter().filter_map(|(_, _, interpreter)| interpreter.as_ref().map(Interpreter::descriptors)).collect();
        let files = save_sandbox(&self.session_context.tree, &tables);
        let saved = Saved { env: self.session_context.env.to_vec(), files, contexts };
        drop(held);
        let compress = move || {
            let plain = postcard::to_stdvec(&saved).expect("plain data");
            let mut bytes = vec![FORMAT];
            bytes.extend_from_slice(&(plain.len() as u64).to_le_bytes());
            zstd::stream::copy_encode(plain.as_slice(), &mut bytes, LEVEL).map(|()| bytes)
        };
        let bytes = apart(compress).await;
        Ok(bytes.map_err(CheckpointError::Io)?)
    }

    /// A session from the bytes that [`Self::save`] has made of one in that image, by another process perhaps, under
    /// these limits, with more variables in its environment.
    ///
    /// # Errors
    /// Returns an error when the bytes are damaged, or hold more than the limits allow.
    pub async fn load(
        pool: Arc<InterpreterPool>,
        command_runner: Arc<dyn CommandRunner>,
        bytes: Vec<u8>,
        image: Option<&str>,
        limits: Limits,
        new_env: Vec<(String, String)>,
    ) -> Result<Self, SessionError> {
        // No honest session is larger: every context's memory, and files.
        let image = Arc::clone(pool.image(image)?);
        let memory_bytes = limits.memory_bytes + image.module.uncounted_bytes();
        let most = (memory_bytes + (1 << 20)) * CONTEXTS as u64 + 2 * limits.files_bytes + (64 << 20);
        let Saved { mut env, files, contexts } = apart(move || parsed(&bytes, most)).await?;
        if contexts.len() > CONTEXTS {
            return Err(CheckpointError::Damaged("too many contexts").into());
        }
        let (allowed, asked) = (quota(&limits), files.quota());
        if asked.bytes > allowed.bytes {
            return Err(CheckpointError::TooLarge { needed: asked.bytes, allowed: allowed.bytes }.into());
        }
        let (tree, tables) = files.load(image.session_base()?).map_err(CheckpointError::Files)?;
        let mut tables = tables.into_iter();
        let mut restored = BTreeMap::new();
        for SavedContext { number, cwd, calls, interpreter } in contexts {
            let interpreter = match interpreter {
                None => None,
                Some(saved) => {
                    let descriptors =
                        tables.next().ok_or(CheckpointError::Damaged("a table of descriptors is missing"))?;
                    let mut interpreter = resumed(&pool, &image, saved, descriptors, &limits).await?;
                    set_variables(&mut interpreter.new_env, &new_env);
                    Some(interpreter)
                }
            };
            restored.insert(number, Arc::new(Context::with(cwd, calls, interpreter)));
        }
        set_variables(&mut env, &new_env);
        let session_context = SessionContext::new(pool, image, command_runner, tree, limits, env.into());
        Ok(Self { session_context, contexts: Mutex::new(restored) })
    }

    /// A second session in the state of this one, when its calls have ended. Its commands are those of `runner`.
    ///
    /// # Errors
    /// Returns an error when there is no interpreter to be had.
    pub async fn fork(&self, runner: Arc<dyn CommandRunner>) -> Result<Self, SessionError> {
        let held = self.hold().await;
        let tables: Vec<&Descriptors> =
            held.iter().filter_map(|(_, _, interpreter)| interpreter.as_ref().map(Interpreter::descriptors)).collect();
        let (tree, copies) = fork_sandbox(&self.session_context.tree, &tables);
        let mut copies = copies.into_iter();
        let mut contexts = BTreeMap::new();
        for (number, context, mut interpreter) in held {
            let interpreter = match interpreter.as_mut() {
                None => None,
                Some(original) => {
                    let descriptors = copies.next().expect("one for each interpreter");
                    let SessionContext { pool, image, limits, .. } = &self.session_context;
                    Some(original.copy(pool, image, descriptors, limits).await?)
                }
            };
            let calls = context.calls.load(Ordering::Relaxed);
            contexts.insert(number, Arc::new(Context::with(context.cwd.clone(), calls, interpreter)));
        }
        let session_context = self.session_context.for_fork(runner, tree);
        Ok(Self { session_context, contexts: Mutex::new(contexts) })
    }
}

impl Context {
    pub(super) fn with(cwd: Option<String>, calls: u64, interpreter: Option<Interpreter>) -> Self {
        Self {
            cwd,
            calls: AtomicU64::new(calls),
            interrupt: Arc::default(),
            busy: AtomicBool::new(false),
            interpreter: Arc::new(AsyncMutex::new(interpreter)),
        }
    }
}

impl Interpreter {
    /// A fresh interpreter in the state of this one.
    async fn copy(
        &mut self,
        pool: &InterpreterPool,
        image: &LoadedImage,
        descriptors: Descriptors,
        limits: &Limits,
    ) -> Result<Self, SessionError> {
        let mut copy = Self::new(pool, image, limits.memory_bytes, descriptors, self.uptime()).await?;
        let stack_pointer = self.stack_pointer();
        let dead = pool.pristine(image).await?.dead_stack(stack_pointer);
        let ranges = page_reset::without(&self.own_pages().map_err(CheckpointError::Io)?, &[dead]);
        let memory = self.memory.data(&self.store);
        let pages = ranges.into_iter().map(|range| (range.start, &memory[range.start * PAGE..range.end * PAGE]));
        copy.resume(memory.len(), stack_pointer, pages).await?;
        copy.started = self.started;
        copy.new_env.clone_from(&self.new_env);
        Ok(copy)
    }
}

/// Sets variables in an environment.
fn set_variables(env: &mut Vec<(String, String)>, variables: &[(String, String)]) {
    env.retain(|(name, _)| variables.iter().all(|(other, _)| other != name));
    env.extend_from_slice(variables);
}

/// Does long work where guests do not wait for it.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("it does not panic, and nobody aborts it")
}

async fn saved(interpreter: &mut Interpreter, pristine: &Pristine) -> Result<SavedInterpreter, SessionError> {
    let stack_pointer = interpreter.stack_pointer();
    let dead = pristine.dead_stack(stack_pointer);
    let ranges = interpreter.own_pages().map_err(CheckpointError::Io)?;
    let (mut pages, mut contents) = (Vec::new(), Vec::new());
    let all: Vec<usize> = ranges.into_iter().flatten().collect();
    for some in all.chunks(PAGES_AT_ONCE) {
        pristine.with_memory(|image| {
            let memory = interpreter.memory.data(&interpreter.store);
            for &page in some {
                let (own, original) = (page_of(memory, page), page_of(image, page));
                if !dead.contains(&page) && own != original {
                    pages.push(page as u32);
                    let start = contents.len();
                    contents.extend_from_slice(own);
                    xor(&mut contents[start..], original);
                }
            }
        });
        if all.len() > PAGES_AT_ONCE {
            tokio::task::yield_now().await;
        }
    }
    Ok(SavedInterpreter {
        memory_bytes: interpreter.memory.data_size(&interpreter.store) as u64,
        stack_pointer,
        uptime: interpreter.uptime(),
        new_env: interpreter.new_env.clone(),
        pages,
        contents,
    })
}

fn parsed(bytes: &[u8], most: u64) -> Result<Saved, CheckpointError> {
    let (&[format, ref length @ ..], packed) =
        bytes.split_first_chunk::<9>().ok_or(CheckpointError::Damaged("it is cut short"))?;
    if format != FORMAT {
        return Err(CheckpointError::Damaged("it has another format"));
    }
    let length = u64::from_le_bytes(length.map(|byte| byte));
    if length > most {
        return Err(CheckpointError::TooLarge { needed: length, allowed: most });
    }
    let length = usize::try_from(length).map_err(|_| CheckpointError::Damaged("its length is no length"))?;
    let plain = zstd::bulk::decompress(packed, length).map_err(|_| CheckpointError::Damaged("it can't be unpacked"))?;
    postcard::from_bytes(&plain).map_err(|_| CheckpointError::Damaged("its parts make no sense"))
}

async fn resumed(
    pool: &InterpreterPool,
    image: &LoadedImage,
    mut saved: SavedInterpreter,
    descriptors: Descriptors,
    limits: &Limits,
) -> Result<Interpreter, SessionError> {
    let SavedInterpreter { memory_bytes, stack_pointer, uptime, new_env, ref pages, ref mut contents } = saved;
    let damaged = |what| SessionError::from(CheckpointError::Damaged(what));
    let counted = memory_bytes.saturating_sub(image.module.uncounted_bytes());
    if counted > limits.memory_bytes {
        return Err(CheckpointError::TooLarge { needed: counted, allowed: limits.memory_bytes }.into());
    }
    if memory_bytes % 65_536 != 0 || memory_bytes < image.module.initial_memory_bytes() {
        return Err(damaged("its memory has no possible size"));
    }
    if contents.len() != pages.len() * PAGE
        || pages.last().is_some_and(|last| (u64::from(*last) + 1) * PAGE as u64 > memory_bytes)
        || !pages.is_sorted_by(|one, next| one < next)
    {
        return Err(damaged("its pages are not in order"));
    }
    pool.pristine(image).await?.with_memory(|image| {
        for (page, contents) in pages.iter().zip(contents.chunks_exact_mut(PAGE)) {
            xor(contents, page_of(image, *page as usize));
        }
    });
    let mut interpreter = Interpreter::new(pool, image, limits.memory_bytes, descriptors, uptime).await?;
    let pages = pages.iter().map(|page| *page as usize).zip(contents.chunks_exact(PAGE));
    let memory_bytes = usize::try_from(memory_bytes).map_err(|_| damaged("its memory has no possible size"))?;
    interpreter.resume(memory_bytes, stack_pointer, pages).await?;
    interpreter.new_env = new_env;
    Ok(interpreter)
}
