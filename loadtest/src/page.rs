//! A trial's report as one HTML file that needs no other.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;

use crate::requirement::CheckedRequirement;
use crate::trials::TrialReport;

const STYLE: &str = "body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}\
table{border-collapse:collapse;margin:.5em 0 1.5em}td,th{border:1px solid #ccc;padding:.2em .6em;text-align:right;\
vertical-align:top}td:first-child,th:first-child{text-align:left}svg{max-width:100%;height:auto}\
.holds{color:#060}.fails{color:#b00;font-weight:bold}";

/// # Errors
/// When a plot cannot be drawn or the file not be written.
pub(crate) fn write(report: &TrialReport, file: &Path) -> anyhow::Result<()> {
    std::fs::write(file, page(report)?).with_context(|| format!("writing {}", file.display()))
}

fn page(report: &TrialReport) -> anyhow::Result<String> {
    let title = escaped(&report.title);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title><style>{STYLE}</style>\n\
         <h1>{title}</h1>\n<p>{} ({})</p>\n",
        escaped(&report.url),
        escaped(&report.runtime.to_string())
    );
    list(&mut page, report.requirements.iter().map(requirement))?;
    list(&mut page, report.facts.iter().map(|(name, value)| format!("{}: {}", escaped(name), escaped(value))))?;
    for table in &report.tables {
        writeln!(page, "<h2>{}</h2>\n<table>", escaped(&table.title))?;
        for (tag, row) in [("th", &table.head)].into_iter().chain(table.rows.iter().map(|row| ("td", row))) {
            page.push_str("<tr>");
            for cell in row {
                write!(page, "<{tag}>{}</{tag}>", escaped(cell))?;
            }
            page.push_str("</tr>\n");
        }
        page.push_str("</table>\n");
    }
    for plot in &report.plots {
        page.push_str(&plot.svg()?);
    }
    if !report.examples.is_empty() {
        page.push_str("<h2>Not right</h2>\n");
        list(&mut page, report.examples.iter().map(|example| escaped(example)))?;
    }
    page.push_str("</html>\n");
    Ok(page)
}

fn list(page: &mut String, items: impl Iterator<Item = String>) -> std::fmt::Result {
    page.push_str("<ul>\n");
    for item in items {
        writeln!(page, "<li>{item}</li>")?;
    }
    page.push_str("</ul>\n");
    Ok(())
}

fn requirement(requirement: &CheckedRequirement) -> String {
    let class = if requirement.holds() { "holds" } else { "fails" };
    format!("<span class=\"{class}\">{}</span>", escaped(&requirement.to_string()))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::RuntimeOfService;
    use crate::trials::{Table, TrialFigure};

    #[test]
    fn whatever_the_service_said_is_text() {
        let target = "http://127.0.0.1:1".parse().expect("it is loopback");
        let mut report = TrialReport::new("Trial", target, RuntimeOfService::default());
        let mut table = Table::new("Answers", &["<b>"]);
        table.row(["<script>".to_owned()]);
        report.tables.push(table);
        report.examples.push("\"<script>&".to_owned());
        report.figure(TrialFigure::Wrong, 1.0);
        let page = page(&report.judge(&[], &["wrong<=0"]).expect("it can be judged")).expect("it can be drawn");
        assert!(!page.contains("<script>") && page.contains("&quot;&lt;script&gt;&amp;"), "{page}");
        assert!(page.contains("class=\"fails\">wrong&lt;=0 FAILS (1.000)"), "{page}");
    }
}
