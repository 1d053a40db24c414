//! Conditions that always hold: `' OR 1=1 --`.

/// Returns the confidence that `matched`, with `before` in front of it on its line, is a tautology; `None` when it is
/// not.
pub(super) fn confidence(before: &str, matched: &str) -> Option<f64> {
    let (operator, condition) = split_after_operator(matched)?;
    let widens = operator.to_ascii_lowercase().ends_with("or") || operator.ends_with("||");
    let (left, right) = condition.split_once('=')?;
    let right = right.trim_start_matches('=');
    let ends_in_comment = ["--", "#", "/*"].iter().any(|end| right.trim_end().ends_with(end));
    let side = |text: &str| text.trim().trim_matches(['\'', '"', '(', ')', ';', '#', '-', '/', '*', ' ']).to_owned();
    let (left, right) = (side(left), side(right));
    if left != right || matched.contains("==") {
        return None;
    }
    let opens_with_quote = matched.starts_with(['\'', '"']);
    // A quote that closes what the payload did not open.
    let foreign = opens_with_quote && super::closes_foreign_quote(before, matched);
    Some(match (foreign, ends_in_comment) {
        (true, _) => 0.92,
        (false, true) => 0.85,
        // Put into the query already. `AND 1=1` is how programs build one.
        (false, false) if opens_with_quote && widens => 0.75,
        (false, false) => 0.4,
    })
}

/// At the `or` or `and` that joins the condition to what the payload is put into.
fn split_after_operator(matched: &str) -> Option<(&str, &str)> {
    let lower = matched.to_ascii_lowercase();
    let at = ["or", "||", "and", "&&"].iter().filter_map(|word| lower.find(word).map(|at| at + word.len())).min()?;
    Some(matched.split_at(at))
}
