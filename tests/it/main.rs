//! Behaviour of the whole service: real server, real workers, real interpreter.

mod harness;

mod basics;
mod cases;
