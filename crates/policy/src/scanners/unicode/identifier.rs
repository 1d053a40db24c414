//! Names that look like other names.

use std::collections::HashMap;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;
use unicode_script::{Script, UnicodeScript};
use unicode_security::confusable_detection::skeleton;
use unicode_security::{MixedScript, is_potential_mixed_script_confusable_char};

use crate::scanners::fragment::Match;

/// Of every match in a name.
const CATEGORY: &str = "confusable_name";
/// Longest name that is looked at; nobody reads a longer one.
const MAX_LENGTH: usize = 256;

/// Names that a reader takes for granted: Python's keywords and built-in names, modules, and what programs call most.
const WELL_KNOWN: &str = "
    False None True and as assert async await break class continue def del elif else except finally for from global if
    import in is lambda nonlocal not or pass raise return try while with yield match case type
    abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex copyright
    credits delattr dict dir divmod enumerate eval exec exit filter float format frozenset getattr globals hasattr hash
    help hex id input int isinstance issubclass iter len license list locals map max memoryview min next object oct open
    ord pow print property quit range repr reversed round set setattr slice sorted staticmethod str sum super tuple vars
    zip __import__ __build_class__ __builtins__ __class__ __dict__ __doc__ __file__ __globals__ __init__ __loader__
    __main__ __name__ __spec__ __subclasses__ ArithmeticError AssertionError AttributeError BaseException Exception
    ImportError IndexError KeyError LookupError NameError OSError RuntimeError StopIteration SyntaxError SystemExit
    TypeError ValueError
    asyncio base64 builtins collections copy csv ctypes datetime functools gc hashlib http importlib inspect io
    itertools json logging math marshal multiprocessing numpy os pandas pathlib pickle platform pty random re requests
    shutil signal site socket ssl sqlite3 string subprocess sys tempfile threading time traceback typing unittest urllib
    admin answer args assertEqual auth check cls code command config connect count data decode default delete encode
    environ error execute file flag get host is_admin item key kwargs load login main name password path popen
    post process read remove request response result run save score secret self send solution solve status system test
    token update url user username value verify write";

/// Well-known names, by their skeletons.
static WELL_KNOWN_BY_LOOKS: LazyLock<HashMap<String, &'static str>> =
    LazyLock::new(|| WELL_KNOWN.split_whitespace().map(|name| (skeleton(name).collect(), name)).collect());

/// Looks whether `name` can be taken for another one (UTS #39), or is another one: Python normalises names to NFKC
/// before it looks them up (PEP 3131, PEP 672).
pub(crate) fn in_identifier(name: &str, found: &mut Vec<Match>) {
    if name.is_ascii() || name.is_empty() {
        return;
    }
    let end = name.char_indices().map(|(at, _)| at).chain([name.len()]).take_while(|at| *at <= MAX_LENGTH).last();
    let end = end.unwrap_or(name.len());
    let looked_at = &name[..end];
    let hit = normalised(looked_at).or_else(|| looks_like(looked_at)).or_else(|| mixes_scripts(looked_at));
    if let Some((rule, confidence, reason)) = hit {
        found.push(Match {
            rule: rule.into(),
            category: CATEGORY.into(),
            range: 0..end,
            confidence,
            reason: reason.into(),
        });
    }
}

type RuleHit = (&'static str, f64, String);

/// A name that Python reads as another one: fullwidth and mathematical letters, ligatures.
fn normalised(name: &str) -> Option<RuleHit> {
    let normal: String = name.nfkc().collect();
    // An accent that is a character of its own changes nothing.
    if normal.chars().eq(name.nfc()) {
        return None;
    }
    let known = WELL_KNOWN.split_whitespace().any(|one| one == normal);
    let confidence = match normal.is_ascii() {
        true if known => 0.97,
        true => 0.85,
        // The micro sign and the like.
        false => 0.3,
    };
    let reason = match normal.is_ascii() {
        true => format!("Python reads this name as `{normal}`."),
        false => "Python reads this name as another one.".to_owned(),
    };
    Some(("normalised_name", confidence, reason))
}

/// A name that a reader takes for a well-known one.
fn looks_like(name: &str) -> Option<RuleHit> {
    let known = WELL_KNOWN_BY_LOOKS.get(&skeleton(name).collect::<String>())?;
    Some(("lookalike_name", 0.95, format!("This name looks like `{known}` and is another one.")))
}

/// A name with letters of scripts that are not written together.
fn mixes_scripts(name: &str) -> Option<RuleHit> {
    if name.is_single_script() {
        return None;
    }
    let has = |script: Script| name.chars().any(|c| c.script() == script);
    let latin = has(Script::Latin);
    let disguised = name.chars().any(|c| !c.is_ascii() && is_potential_mixed_script_confusable_char(c));
    let cyrillic = has(Script::Cyrillic) || has(Script::Armenian) || has(Script::Cherokee);
    let confidence = match (latin, cyrillic, disguised) {
        (true, true, true) => 0.9,
        (true, true, false) => 0.6,
        // Formulas: `Δx`, `σ_max`; but `ο` is no Latin letter.
        (true, false, true) if !has(Script::Greek) => 0.6,
        (true, false, true) if name.chars().any(|c| "οΑΒΕΖΗΙΚΜΝΟΡΤΥΧ".contains(c)) => 0.7,
        _ if has(Script::Greek) && !cyrillic => return None,
        // `中文name` is not meant to deceive.
        _ => 0.3,
    };
    Some(("mixed_script_name", confidence, "This name mixes letters of different scripts.".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanners::fragment::tests::check;

    fn found(name: &str) -> Option<(String, f64)> {
        let mut found = Vec::new();
        in_identifier(name, &mut found);
        check(name, &found);
        assert!(found.len() <= 1);
        found.pop().map(|one| (one.rule.into_owned(), one.confidence))
    }

    #[test]
    fn a_name_that_python_reads_as_another_one_is_found() {
        for name in ["𝐞𝐱𝐞𝐜", "ｅｖａｌ", "𝓅𝓇𝒾𝓃𝓉", "__𝕚mport__"] {
            assert_eq!(found(name), Some(("normalised_name".to_owned(), 0.97)), "{name}");
        }
        assert_eq!(found("ﬁle_count"), Some(("normalised_name".to_owned(), 0.85)));
        assert!(found("µ").expect("it becomes the letter").1 < 0.5);
    }

    #[test]
    fn a_name_that_looks_like_a_well_known_one_is_found() {
        for name in ["ехес", "рrint", "о\u{455}", "eνal", "іmport", "раssword", "Ехсерtion", "ѕеlf"] {
            assert_eq!(found(name), Some(("lookalike_name".to_owned(), 0.95)), "{name}");
        }
    }

    #[test]
    fn a_name_in_several_scripts_is_found() {
        assert_eq!(found("calculаtor"), Some(("mixed_script_name".to_owned(), 0.9)));
        assert!(found("cοunter_x").expect("an omicron").1 >= 0.7);
    }

    #[test]
    fn names_in_one_script_and_of_formulas_are_fine() {
        for name in [
            "naïve",
            "größe",
            "α",
            "λ",
            "σ_max",
            "Δx",
            "dθ",
            "имя",
            "переменная",
            "变量",
            "データ",
            "変数名",
            "이름",
            "شمارنده",
            "x_变量",
            "é",
            "cafe\u{301}",
            "ñ",
            "_π",
            "λ2",
            "ångström",
            "θ_hat",
            "Σ",
        ] {
            assert!(found(name).is_none_or(|(_, confidence)| confidence < 0.5), "{name}: {:?}", found(name));
        }
        assert_eq!(found("exec"), None);
        assert_eq!(found("Δx"), None);
    }

    #[test]
    fn a_long_name_is_looked_at_in_part() {
        let name = "я".repeat(10_000) + "a";
        assert_eq!(found(&name), None);
        assert!(found(&("a".to_owned() + &name)).is_some());
    }
}
