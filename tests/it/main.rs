//! Behaviour of the whole service: real server, real workers, real interpreter.

mod harness;
mod process;

mod access;
mod basics;
mod boundary;
mod cases;
mod cli;
mod clients;
mod connections;
mod deterministic;
mod e2b;
mod environment;
mod eval;
mod execute;
mod grading;
mod hostile;
mod image;
mod input;
mod isolated;
mod kinds;
mod leaks;
mod limits;
mod lint;
mod operation;
mod policy;
mod readme;
mod receipts;
mod recursion;
mod redteam;
mod results;
mod sessions;
mod suites;
mod wire;
mod workers;
