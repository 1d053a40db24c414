//! Behaviour of the whole service: real server, real workers, real interpreter.

mod harness;
mod process;

mod basics;
mod boundary;
mod cases;
mod deterministic;
mod environment;
mod execute;
mod grading;
mod hostile;
mod input;
mod limits;
mod readme;
mod recursion;
mod results;
mod wire;
mod workers;
