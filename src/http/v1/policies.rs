//! `GET /v1/policies`: the policy packs.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::answer::LimitsInForce;
use crate::http::AppState;
use proofbox_policy::{Action, Aggregation, BoundaryRule, Imports, Pack, Scanner};
use proofbox_types::submission::Grading;

/// Policy pack with its limits and rules.
#[derive(Serialize, ToSchema)]
pub(crate) struct Policy {
    name: String,
    description: String,
    /// Limits in force where a request is silent.
    default: LimitsInForce,
    /// The least that may be asked for.
    least: LimitsInForce,
    /// The most that may be asked for.
    most: LimitsInForce,
    /// `isolated`, `in_process` or `auto`, where a request is silent.
    default_grading: &'static str,
    /// `full` or `hidden`, where a request is silent.
    default_visibility: &'static str,
    /// Rule by which the scanners' votes become a decision: `any`, `all`, `majority`, `weighted`.
    aggregation: &'static str,
    /// Action on each capability, with the reason.
    capabilities: BTreeMap<&'static str, CapabilityRule>,
    /// Action on each scanner's findings; for `capabilities` the gravest.
    scanners: BTreeMap<&'static str, ScannerRule>,
    /// Modules that may be imported, or may not, where the policy says so.
    imports: Option<ImportRule>,
    /// Effect of a refused attempt to reach outside on a run: `report` or `fail`.
    boundary: BTreeMap<&'static str, &'static str>,
}

#[derive(Serialize, ToSchema)]
struct CapabilityRule {
    action: Action,
    reason: String,
}

#[derive(Serialize, ToSchema)]
struct ScannerRule {
    action: Action,
    /// Findings of less confidence are left out.
    threshold: f64,
}

#[derive(Serialize, ToSchema)]
struct ImportRule {
    /// `allow`: these only; `deny`: all but these.
    list: &'static str,
    modules: Vec<String>,
}

/// The policies in force.
#[utoipa::path(get, path = "/v1/policies", responses((status = 200, description = "Every pack", body = Vec<Policy>)))]
pub(crate) async fn policies(State(shared): State<AppState>) -> Json<Vec<Policy>> {
    Json(shared.service.policies.current().iter().map(policy).collect())
}

fn policy((name, pack): (&str, &Pack)) -> Policy {
    let gate = &pack.gate;
    let names = |names: &[proofbox_policy::NamePattern]| names.iter().map(|name| name.text().to_owned()).collect();
    let imports = match &gate.imports {
        _ if gate.rules[&Scanner::Imports].action == Action::Off => None,
        Imports::Allow(modules) => Some(ImportRule { list: "allow", modules: names(modules) }),
        Imports::Deny(modules) => Some(ImportRule { list: "deny", modules: names(modules) }),
    };
    Policy {
        name: name.to_owned(),
        description: pack.description.clone(),
        default: (&pack.ceiling.default).into(),
        least: (&pack.ceiling.least).into(),
        most: (&pack.ceiling.most).into(),
        default_grading: match pack.defaults.grading {
            Grading::Isolated => "isolated",
            Grading::InProcess => "in_process",
            Grading::Auto => "auto",
        },
        default_visibility: if pack.defaults.hidden { "hidden" } else { "full" },
        aggregation: match gate.aggregation {
            Aggregation::Any => "any",
            Aggregation::All => "all",
            Aggregation::Majority => "majority",
            Aggregation::Weighted(_) => "weighted",
        },
        capabilities: gate
            .capabilities
            .iter()
            .map(|(word, (action, reason))| (word.as_str(), CapabilityRule { action: *action, reason: reason.clone() }))
            .collect(),
        scanners: gate
            .rules
            .iter()
            .map(|(scanner, rules)| {
                let action = match scanner {
                    Scanner::Capabilities => gate.capabilities.values().map(|(action, _)| *action).max(),
                    _ => None,
                };
                let action = action.unwrap_or(rules.action);
                (scanner.as_str(), ScannerRule { action, threshold: rules.threshold })
            })
            .collect(),
        imports,
        boundary: pack
            .boundary
            .iter()
            .map(|(kind, rule)| {
                let rule = match rule {
                    BoundaryRule::Report => "report",
                    BoundaryRule::Fail => "fail",
                };
                (kind.as_str(), rule)
            })
            .collect(),
    }
}
