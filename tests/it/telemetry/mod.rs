//! Metrics, logs and traces say what docs/reference/telemetry.md says, and give nothing away.

mod collector;
mod logs;
mod metrics;
mod traces;
