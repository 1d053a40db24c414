//! Selectors of versions, as npm has them: `*`, `3.x`, `3.13.0`, `^3.10`, `>=3.8 <4`, `2.7 || 3`.

type Version = [u64; 3];

/// Returns whether a selector selects a version. A selector that can't be read selects none.
pub(super) fn selects(selector: &str, version: &str) -> bool {
    let Some((version, 3)) = parse(version) else { return false };
    let all = |range: &str| {
        let joined =
            range.replace("> ", ">").replace("< ", "<").replace("= ", "=").replace("^ ", "^").replace("~ ", "~");
        joined.split_whitespace().all(|part| compares(part, version))
    };
    selector.len() <= MAX_LENGTH && selector.split("||").any(all)
}

/// Maximum length of a selector, in bytes.
const MAX_LENGTH: usize = 100;

/// Parses a version or the beginning of one, and counts the numbers that it has.
fn parse(text: &str) -> Option<(Version, usize)> {
    let text = text.trim().trim_start_matches(['v', '=']);
    let core = text.split(['-', '+']).next().unwrap_or_default();
    let (mut version, mut count) = ([0; 3], 0);
    for part in core.split('.') {
        if matches!(part, "*" | "x" | "X" | "") {
            break;
        }
        *version.get_mut(count)? = part.parse().ok()?;
        count += 1;
    }
    Some((version, count))
}

/// Returns the first version after all that begin with so many numbers of this one; none if every version does.
fn after(mut version: Version, count: usize) -> Option<Version> {
    let last = version.get_mut(count.checked_sub(1)?)?;
    *last = last.saturating_add(1);
    version.get_mut(count..)?.fill(0);
    Some(version)
}

fn compares(part: &str, version: Version) -> bool {
    let (operator, rest) =
        part.split_at(part.find(|c| !matches!(c, '^' | '~' | '<' | '>' | '=')).unwrap_or(part.len()));
    let Some((least, count)) = parse(rest) else { return false };
    let within = |end: Option<Version>| version >= least && end.is_none_or(|end| version < end);
    match operator {
        "" | "=" => within(after(least, count)),
        "~" => within(after(least, count.min(2))),
        // Up to the first number that is not 0.
        "^" => {
            let first = least.iter().position(|number| *number != 0).map_or(count, |index| index + 1);
            within(after(least, first.min(count)))
        }
        ">=" => version >= least,
        "<" => version < least,
        ">" => after(least, count).is_some_and(|end| version >= end),
        "<=" => after(least, count).is_none_or(|end| version < end),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_mean_what_they_mean_to_npm() {
        for selector in [
            "*",
            "x",
            "",
            "3",
            "3.x",
            "3.*",
            "3.13",
            "3.13.x",
            "3.13.9",
            "=3.13.9",
            "v3.13.9",
            "^3",
            "^3.10.0",
            "~3.13",
            "~3.13.2",
            "~3",
            ">=3.8",
            ">= 3.8 <4",
            ">3.12",
            "<=3.13",
            "<4.0.0",
            "2.7 || ^3.1",
            ">3.13.8",
            "<=3.13.9",
        ] {
            assert!(selects(selector, "3.13.9"), "{selector}");
        }
        for selector in [
            "2",
            "2.x",
            "3.10.0",
            "3.12",
            "3.13.8",
            "^2.7",
            "^4",
            "^3.14",
            "~3.12",
            "~3.13.10",
            ">=3.14",
            "<3.13",
            ">3.13",
            "<=3.12",
            ">3",
            "latest",
            "3.13.9.1",
            "3.8 || 2",
            ">=3.8 <3.13",
            ">*",
            "=>3",
            "99999999999999999999",
            "3,13",
        ] {
            assert!(!selects(selector, "3.13.9"), "{selector}");
        }
        assert!(selects("^0.2.1", "0.2.5") && !selects("^0.2.1", "0.3.0") && !selects("^0.0.3", "0.0.4"));
        assert!(!selects(&" ".repeat(MAX_LENGTH + 1), "3.13.9"));
    }
}
