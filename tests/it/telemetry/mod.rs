//! Metrics, logs and traces say what docs/TELEMETRY.md says, and give nothing away.

mod collector;
mod logs;
mod metrics;
mod traces;
