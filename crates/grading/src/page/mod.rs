//! The results as one HTML file: no network, and nothing that a candidate wrote is markup.
//!
//! Three guards: data is embedded as JSON without a `<`, the page's script only ever sets text, and a content security
//! policy allows the page's own style and script by hash and nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};

use super::report::{Report, percent};
use proofbox_types::sanitize::sanitize;

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// Of one item; the whole answer is in the file of `--json`.
const MAX_CASES: usize = 200;
/// Characters of a name or message.
const MAX_LINE: usize = 600;
/// Characters of the program and of each stream.
const MAX_TEXT: usize = 6000;

/// Content of the page.
pub struct Page<'a> {
    /// Title of the page.
    pub title: &'a str,
    /// The runtime of an answer.
    pub runtime: Option<Json>,
    /// Report on all items.
    pub report: &'a Report,
    /// Changes since an earlier run; null where there is none.
    pub changes: Json,
    /// Warnings for the reader.
    pub warnings: &'a [String],
    /// Requirements in words, and whether each holds.
    pub required: Vec<(String, bool)>,
    /// Items of the suite, as [`row`] makes them.
    pub items: Vec<Json>,
}

/// Renders the page as HTML.
pub fn page(shown: &Page<'_>) -> String {
    let data = json!({
        "title": shown.title,
        "written": jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string(),
        "runtime": shown.runtime,
        "report": shown.report,
        "changes": shown.changes,
        "warnings": shown.warnings,
        "required": shown.required.iter().map(|(text, holds)| json!({"text": text, "holds": holds})).collect::<Vec<_>>(),
        "items": shown.items,
    });
    let report = shown.report;
    let rate = report.pass_rate.map_or_else(|| "nothing was graded".to_owned(), percent);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; form-action 'none'; \
         style-src '{style_hash}'; script-src '{script_hash}'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title} - proofbox</title>\n<style>{STYLE}</style>\n\
         </head>\n<body>\n<main id=\"main\">\n<noscript><h1>{title}</h1><p>{passed} of {graded} passed: {rate}. The details \
         need JavaScript.</p></noscript>\n</main>\n<script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        style_hash = hash(STYLE),
        script_hash = hash(SCRIPT),
        title = escaped(&sanitize(shown.title)),
        passed = report.passed,
        graded = report.graded,
        data = embedded(data),
    )
}

/// Makes the row of an item, shortened to what the page shows.
pub fn row(item: &Map<String, Json>, answer: &Json) -> Json {
    let shortened_text = |value: &Json, longest| value.as_str().map(|text| shortened(text, longest));
    let cases = answer["cases"].as_array().map_or(&[][..], Vec::as_slice);
    let case = |case: &Json| {
        json!({
            "name": shortened_text(&case["name"], MAX_LINE), "status": case["status"],
            "class": case["stderr_class"], "message": shortened_text(&case["message"], MAX_LINE),
            "seconds": case["execution_seconds"], "fuel": case["fuel_used"],
        })
    };
    let lint = answer["lint"]["diagnostics"].as_array().map(|found| {
        let one = |one: &Json| {
            json!({"line": one["line"], "code": one["code"], "message": shortened_text(&one["message"], MAX_LINE)})
        };
        found.iter().take(MAX_CASES).map(one).collect::<Vec<_>>()
    });
    let code = item.get("code").or_else(|| item.get("completion")).unwrap_or(&Json::Null);
    json!({
        "id": answer["id"], "task": answer["task"], "status": answer["status"], "class": answer["stderr_class"],
        "passed": answer["tests_passed"], "total": answer["tests_total"], "seconds": answer["execution_seconds"],
        "fuel": answer["fuel_used"], "memory": answer["peak_memory_bytes"], "labels": answer["labels"],
        "level": answer["integrity"]["level"], "signals": answer["integrity"]["signals"],
        "error": shortened_text(&answer["error"]["message"], MAX_TEXT),
        "errorType": shortened_text(&answer["error"]["type"], MAX_LINE), "line": answer["error"]["line"],
        "cases": cases.iter().take(MAX_CASES).map(case).collect::<Vec<_>>(),
        "moreCases": cases.len().saturating_sub(MAX_CASES), "lint": lint,
        "code": shortened_text(code, MAX_TEXT), "stdout": shortened_text(&answer["stdout"], MAX_TEXT),
        "stderr": shortened_text(&answer["stderr"], MAX_TEXT),
    })
}

fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// JSON that a script element can hold: a `<` could end the element, or begin a comment in it.
fn embedded(mut data: Json) -> String {
    sanitize_texts(&mut data);
    let mut out = String::new();
    for c in data.to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            _ => out.push(c),
        }
    }
    out
}

fn sanitize_texts(data: &mut Json) {
    match data {
        Json::String(text) => *text = sanitize(text),
        Json::Array(items) => items.iter_mut().for_each(sanitize_texts),
        Json::Object(fields) => {
            *fields = std::mem::take(fields)
                .into_iter()
                .map(|(key, mut value)| {
                    sanitize_texts(&mut value);
                    (sanitize(&key), value)
                })
                .collect();
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{2028}' | '\u{2029}' => out.push(' '),
            _ => out.push(c),
        }
    }
    out
}

/// Returns the SHA-256 hash of a text as a source expression of a content security policy.
fn hash(text: &str) -> String {
    format!("sha256-{}", BASE64.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_data_and_never_markup() {
        let hostile = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)>\u{2028}\u{202e}\x1b";
        let answer = json!({"id": hostile, "status": hostile, "cases": [{"name": hostile, "message": hostile}],
            "stdout": hostile, "error": {"message": hostile}, "labels": {hostile: hostile}});
        let Json::Object(fields) = json!({"code": hostile}) else { unreachable!("an object") };
        let mut report = Report::default();
        report.by_label.insert(hostile.to_owned(), [(hostile.to_owned(), Default::default())].into());
        let page = page(&Page {
            title: hostile,
            runtime: None,
            report: &report,
            changes: Json::Null,
            warnings: &[hostile.to_owned()],
            required: vec![(hostile.to_owned(), false)],
            items: vec![row(&fields, &answer)],
        });
        // The page's own: the data and the script.
        assert_eq!(page.matches("<script").count(), 2);
        assert_eq!(page.matches("</script").count(), 2);
        assert!(!page.contains("<img") && !page.contains("<!--"));
        assert!(page.chars().all(|c| c == '\n' || !c.is_control()) && !page.contains(['\u{2028}', '\u{202e}']));
        let data = page.split_once("id=\"data\">").and_then(|(_, rest)| rest.split_once("</script>")).expect("data").0;
        let data: Json = serde_json::from_str(data).expect("it is JSON");
        assert!(data["items"][0]["stdout"].as_str().is_some_and(|text| text.starts_with("</script><script>alert(1)")));
    }

    #[test]
    fn the_page_asks_no_network() {
        for text in [STYLE, SCRIPT] {
            for word in ["http:", "https:", "//cdn", "@import", "url(", "fetch(", "XMLHttpRequest", "innerHTML"] {
                let found = text.replace("http://www.w3.org/2000/svg", "").contains(word);
                assert!(!found, "{word}");
            }
        }
        assert!(!SCRIPT.contains("</") && !STYLE.contains("</"));
    }
}
