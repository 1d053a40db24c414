//! Changes since a baseline: an earlier file of `--json`.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use proofbox_grading::report::{Report, Share, median};

/// The file that `--json` writes, as far as a comparison needs it.
#[derive(Deserialize)]
pub(super) struct Baseline {
    report: Report,
    results: Vec<Json>,
}

/// Differences from the baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Changes {
    /// Items that passed in the baseline, and fail now.
    pub newly_failing: Vec<String>,
    /// Items that pass now, and failed in the baseline.
    pub newly_passing: Vec<String>,
    /// Items that the baseline does not have.
    pub added: usize,
    /// Items that only the baseline has.
    pub removed: usize,
    /// Pass rate of the baseline.
    pub pass_rate_before: Option<f64>,
    /// Pass rate of this run.
    pub pass_rate: Option<f64>,
    /// The median of now / then - 1 over items that pass in both; none when there is no such item, or the interpreter
    /// is another one and fuel can't be compared.
    pub fuel_change: Option<f64>,
    /// True when both ran in the same image.
    pub same_image: bool,
    /// Differences of the items with a label, by its name and value, where the baseline has such items.
    pub by_label: BTreeMap<String, BTreeMap<String, LabelChange>>,
}

/// Differences of the items with one label.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct LabelChange {
    /// Pass rate of the baseline.
    pub pass_rate_before: Option<f64>,
    /// Pass rate of this run.
    pub pass_rate: Option<f64>,
    /// Number of items that passed in the baseline, and fail now.
    pub newly_failing: u64,
    /// Number of items that pass now, and failed in the baseline.
    pub newly_passing: u64,
}

impl Baseline {
    /// Reads the file of an earlier `--json`.
    ///
    /// # Errors
    /// Returns an error when it is not such a file.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        serde_json::from_slice(&bytes)
            .with_context(|| format!("{} is no file of `proofbox eval --json`", path.display()))
    }

    /// Compares `results`, of which `report` is the report, with the baseline.
    pub(super) fn changes(&self, report: &Report, results: &[Json]) -> Changes {
        let before: HashMap<&str, &Json> =
            self.results.iter().filter_map(|line| Some((line["id"].as_str()?, line))).collect();
        let image =
            |lines: &[Json]| lines.iter().find_map(|line| line["runtime"]["image_hash"].as_str().map(str::to_owned));
        let mut changes = Changes {
            pass_rate_before: self.report.pass_rate,
            pass_rate: report.pass_rate,
            same_image: image(&self.results) == image(results),
            by_label: by_label(&self.report, report),
            ..Changes::default()
        };
        let mut fuel = Vec::new();
        let mut common = 0;
        for line in results {
            let Some(id) = line["id"].as_str() else { continue };
            let Some(old) = before.get(id) else {
                changes.added += 1;
                continue;
            };
            common += 1;
            // What the service failed at says nothing of the item.
            if [old, line].iter().any(|line| line["status"] == "infrastructure_error") {
                continue;
            }
            match (has_passed(old), has_passed(line)) {
                (true, false) => {
                    changes.newly_failing.push(id.to_owned());
                    changes.of_labels(line, |change| change.newly_failing += 1);
                }
                (false, true) => {
                    changes.newly_passing.push(id.to_owned());
                    changes.of_labels(line, |change| change.newly_passing += 1);
                }
                (true, true) => {
                    if let (Some(then), Some(now)) = (old["fuel_used"].as_f64(), line["fuel_used"].as_f64())
                        && then > 0.0
                    {
                        fuel.push(now / then - 1.0);
                    }
                }
                (false, false) => {}
            }
        }
        changes.removed = before.len() - common;
        fuel.sort_by(f64::total_cmp);
        changes.fuel_change = (changes.same_image && !fuel.is_empty()).then(|| median(&fuel));
        changes
    }
}

impl Changes {
    /// Returns the pass rate minus that of the baseline.
    pub(super) fn pass_rate_change(&self) -> Option<f64> {
        Some(self.pass_rate? - self.pass_rate_before?)
    }

    fn of_labels(&mut self, line: &Json, count: impl Fn(&mut LabelChange)) {
        for (label, value) in line["labels"].as_object().into_iter().flatten() {
            let values = self.by_label.get_mut(label);
            if let Some(change) = values.zip(value.as_str()).and_then(|(values, value)| values.get_mut(value)) {
                count(change);
            }
        }
    }
}

impl LabelChange {
    /// Returns the pass rate minus that of the baseline.
    pub(super) fn pass_rate_change(&self) -> Option<f64> {
        Some(self.pass_rate? - self.pass_rate_before?)
    }
}

fn by_label(before: &Report, now: &Report) -> BTreeMap<String, BTreeMap<String, LabelChange>> {
    let change = |label: &String, (value, share): (&String, &Share)| {
        let old = before.by_label.get(label)?.get(value)?;
        let change =
            LabelChange { pass_rate_before: old.pass_rate, pass_rate: share.pass_rate, ..LabelChange::default() };
        Some((value.clone(), change))
    };
    let of_label = |(label, values): (&String, &BTreeMap<String, Share>)| {
        let changes: BTreeMap<_, _> = values.iter().filter_map(|each| change(label, each)).collect();
        (!changes.is_empty()).then(|| (label.clone(), changes))
    };
    now.by_label.iter().filter_map(of_label).collect()
}

fn has_passed(line: &Json) -> bool {
    matches!(line["status"].as_str(), Some("passed" | "ok"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(id: &str, status: &str, fuel: u64, image: &str) -> Json {
        json!({"id": id, "status": status, "fuel_used": fuel, "runtime": {"image_hash": image}})
    }

    fn changes(results: &[Json]) -> Changes {
        let baseline = Baseline {
            report: Report { pass_rate: Some(0.5), ..Report::default() },
            results: vec![
                line("a", "passed", 100, "x"),
                line("b", "failed", 100, "x"),
                line("c", "passed", 100, "x"),
                line("d", "passed", 100, "x"),
                line("gone", "passed", 100, "x"),
            ],
        };
        baseline.changes(&Report { pass_rate: Some(0.75), ..Report::default() }, results)
    }

    #[test]
    fn each_item_is_compared_with_itself() {
        let changes = changes(&[
            line("a", "failed", 1, "x"),
            line("b", "passed", 1, "x"),
            line("c", "passed", 110, "x"),
            line("d", "infrastructure_error", 0, "x"),
            line("new", "passed", 1, "x"),
        ]);
        assert_eq!(
            (changes.newly_failing.as_slice(), changes.newly_passing.as_slice()),
            (&["a".to_owned()][..], &["b".to_owned()][..])
        );
        assert_eq!((changes.added, changes.removed), (1, 1));
        assert_eq!(changes.pass_rate_change(), Some(0.25));
        assert!((changes.fuel_change.expect("c passes in both") - 0.1).abs() < 1e-9);
    }

    #[test]
    fn items_with_a_label_are_compared_with_those_of_the_baseline() {
        let report = |model: &str, pass_rate| {
            let share = Share { pass_rate: Some(pass_rate), ..Share::default() };
            let values = BTreeMap::from([(model.to_owned(), share.clone()), (format!("only {pass_rate}"), share)]);
            Report { by_label: BTreeMap::from([("model".to_owned(), values)]), ..Report::default() }
        };
        let line = |id: &str, status: &str| json!({"id": id, "status": status, "labels": {"model": "m", "x": "y"}});
        let baseline = Baseline { report: report("m", 0.5), results: vec![line("a", "passed"), line("b", "failed")] };
        let changes = baseline.changes(&report("m", 0.25), &[line("a", "failed"), line("b", "failed")]);
        let expected =
            LabelChange { pass_rate_before: Some(0.5), pass_rate: Some(0.25), newly_failing: 1, newly_passing: 0 };
        assert_eq!(changes.by_label["model"], BTreeMap::from([("m".to_owned(), expected.clone())]));
        assert_eq!((changes.by_label.len(), expected.pass_rate_change()), (1, Some(-0.25)));
    }

    #[test]
    fn fuel_of_another_interpreter_is_not_compared() {
        let changes = changes(&[line("c", "passed", 110, "y")]);
        assert_eq!((changes.same_image, changes.fuel_change), (false, None));
    }
}
