//! Hints for branches: what is counted, what is said of it, where, and what of a profile is refused.

use proofbox_metering::{
    BranchProfile, Hint, ProfileError, Thresholds, count_branches, meter, meter_with_hints, note_short_runs, profile,
    verify,
};
use wasmparser::{KnownCustom, Operator, Parser, Payload};

/// Two branches, a call that is charged, and a loop. Counters: the entry; `br_if` reached, taken; `if` reached, taken; end
/// of the `if`; end of the block; head of the loop; `br_if` reached, taken; end of the loop.
const FUNCTION: &str = "(func (param i32)
    (block $out
      (br_if $out (local.get 0))
      (if (local.get 0) (then (call_indirect (type $plain) (i32.const 1)))))
    (loop $again (br_if $again (local.get 0))))";

fn module(rest: &str) -> Vec<u8> {
    let text = format!("(module (type $plain (func)) (table 2 funcref) {rest})");
    wat::parse_str(text).expect("the text is WebAssembly")
}

fn profile_of(counts: &[u64]) -> BranchProfile {
    profile(&module(FUNCTION), counts, Thresholds { branch: 0.1, function: 0.001 }).expect("it was counted")
}

/// The hints of a metered module that are not of charges: function, place of the branch among those of the original, and
/// whether it is taken. Each hint has to be of a branch, and each charge has to have one.
fn hints(module: &[u8]) -> Vec<(u32, usize, bool)> {
    let (mut hints, mut found, mut index) = (Vec::new(), Vec::new(), 0);
    for payload in Parser::new(0).parse_all(module) {
        match payload.expect("a whole module") {
            Payload::ImportSection(imports) => index = imports.into_imports().count() as u32,
            Payload::CustomSection(section) => {
                let KnownCustom::BranchHints(functions) = section.as_known() else { continue };
                for function in functions {
                    let function = function.expect("a whole section");
                    let of_function = function.hints.into_iter().map(|hint| hint.expect("a whole hint"));
                    hints.extend(of_function.map(|hint| (function.func, hint.func_offset as usize, hint.taken)));
                }
            }
            Payload::CodeSectionEntry(body) => {
                let operators = body.get_operators_reader().expect("a whole body").into_iter_with_offsets();
                let operators: Vec<_> = operators.map(|operator| operator.expect("a whole operator")).collect();
                let mut branch = 0;
                for (at, (operator, offset)) in operators.iter().enumerate() {
                    if !matches!(operator, Operator::If { .. } | Operator::BrIf { .. }) {
                        continue;
                    }
                    let place = offset - body.range().start;
                    let hint = hints.extract_if(.., |(function, at, _)| (*function, *at) == (index, place)).next();
                    let is_charge = at > 0 && matches!(operators[at - 1].0, Operator::I64LtS);
                    if is_charge {
                        assert_eq!(hint.map(|hint| hint.2), Some(false), "a pause is rare");
                    } else {
                        found.extend(hint.map(|(function, _, taken)| (function, branch, taken)));
                        branch += 1;
                    }
                }
                index += 1;
            }
            _ => {}
        }
    }
    assert_eq!(hints, [], "each hint is of a branch");
    found
}

#[test]
fn what_is_rare_and_what_is_not() {
    // The way round the `if` is rare, its body is not, and the loop turns often.
    let counts = [100, 100, 1, 99, 90, 99, 100, 10_000, 10_000, 9_900, 100];
    let hinted = meter_with_hints(&module(FUNCTION), &profile_of(&counts)).expect("it can be metered");
    assert_eq!((hinted.report.hinted, hinted.report.hints), (1, 2));
    assert_eq!(hints(&hinted.module), [(1, 1, true), (1, 2, true)]);
    // The same with a branch that is mostly taken, and an `if` that is not.
    let counts = [100, 100, 99, 1, 0, 1, 100, 100, 100, 0, 100];
    let hinted = meter_with_hints(&module(FUNCTION), &profile_of(&counts)).expect("it can be metered");
    assert_eq!(hints(&hinted.module), [(1, 0, true), (1, 1, false)]);
}

#[test]
fn what_a_rare_branch_leads_to_has_to_be_rare() {
    // After the block goes on what comes out of the `if`: the branch is rarely taken, and what it leads to is not rare.
    let text =
        "(func (param i32) (block $rare (block $out (br_if $out (local.get 0)) (br_if $rare (local.get 0)) (return))))";
    let of = |counts: &[u64]| profile(&module(text), counts, Thresholds::default()).expect("it was counted");
    let hints_for =
        |counts: &[u64]| hints(&meter_with_hints(&module(text), &of(counts)).expect("it can be metered").module);
    // Entered; `br_if` twice; end of the inner block, and of the outer one, to which both lead.
    assert_eq!(hints_for(&[1000, 1000, 1, 999, 2, 1, 3]), [(1, 0, false), (1, 1, false)]);
    assert_eq!(hints_for(&[1000, 1000, 1, 999, 2, 1, 500]), [(1, 0, false)]);
}

#[test]
fn hints_are_all_that_a_profile_changes() {
    let module = module(FUNCTION);
    let plain = meter(&module).expect("it can be metered").module;
    let hinted = meter_with_hints(&module, &profile_of(&[9, 9, 0, 9, 0, 9, 9, 9, 9, 0, 9])).expect("it can be metered");
    assert_ne!(plain, hinted.module);
    assert_eq!(without_hints(&plain), without_hints(&hinted.module));
    verify(&hinted.module).expect("it is metered");
}

/// The sections of a module but for that of the hints.
fn without_hints(module: &[u8]) -> Vec<&[u8]> {
    let sections = Parser::new(0).parse_all(module).map(|payload| payload.expect("a whole module"));
    let kept = sections.filter(|payload| !matches!(payload, Payload::CustomSection(_)));
    kept.filter_map(|payload| payload.as_section().map(|(_, range)| &module[range])).collect()
}

#[test]
fn a_function_is_known_after_it_was_linked_anew() {
    let profile = profile_of(&[100, 100, 99, 1, 0, 1, 100, 100, 100, 0, 100]);
    let function = FUNCTION.replace("i32.const 1)", "i32.const 77777)");
    let moved = format!(
        "(module (type (func (result i64))) (type $plain (func)) (import \"host\" \"call\" (func)) (table 2 funcref)
           (func $other) (global i32 (i32.const 7)) {function})"
    );
    let moved = wat::parse_str(moved).expect("the text is WebAssembly");
    let hinted = meter_with_hints(&moved, &profile).expect("it can be metered");
    // It comes before the other one, which nobody has counted.
    assert_eq!(hints(&hinted.module), [(2, 0, true), (2, 1, false)]);
}

#[test]
fn functions_that_are_used_most_come_first() {
    let text = r#"(module (import "host" "call" (func $host))
        (func $cold (export "cold"))
        (func $warm (export "warm") (param i64) (call $cold) (call $hot (f32.const 0)) (call $host))
        (func $hot (export "hot") (param f32) (nop))
        (table 3 funcref) (elem (i32.const 0) func $cold $warm $hot) (start $cold))"#;
    let module = wat::parse_str(text).expect("the text is WebAssembly");
    let profile = profile(&module, &[0, 5, 1000], Thresholds::default()).expect("it was counted");
    let ordered = meter_with_hints(&module, &profile).expect("it can be metered").module;
    // The arguments are of different kinds, so this finds a function with another's type.
    wasmparser::Validator::new().validate_all(&ordered).expect("it is valid");
    let mut places = Vec::new();
    for payload in Parser::new(0).parse_all(&ordered) {
        match payload.expect("a whole module") {
            Payload::ExportSection(exports) => {
                let exports = exports.into_iter().map(|export| export.expect("a whole export"));
                places.extend(exports.map(|export| (export.name.to_owned(), export.index)));
            }
            Payload::StartSection { func, .. } => places.push(("start".to_owned(), func)),
            Payload::ElementSection(elements) => {
                for element in elements {
                    let element = element.expect("a whole element");
                    let is_declared = matches!(element.kind, wasmparser::ElementKind::Declared);
                    let kind = if is_declared { "declared" } else { "element" };
                    let wasmparser::ElementItems::Functions(functions) = element.items else {
                        panic!("they are functions");
                    };
                    places.extend(functions.into_iter().map(|index| (kind.to_owned(), index.expect("an index"))));
                }
            }
            Payload::CodeSectionEntry(body) => {
                for operator in body.get_operators_reader().expect("a whole body") {
                    if let Operator::Call { function_index } = operator.expect("a whole operator") {
                        places.push(("call".to_owned(), function_index));
                    }
                }
            }
            Payload::CustomSection(section) => {
                let KnownCustom::Name(names) = section.as_known() else { continue };
                for name in names {
                    let wasmparser::Name::Function(functions) = name.expect("whole names") else { continue };
                    let functions = functions.into_iter().map(|naming| naming.expect("a whole name"));
                    places.extend(functions.map(|naming| (format!("${}", naming.name), naming.index)));
                }
            }
            _ => {}
        }
    }
    let places: Vec<(&str, u32)> = places.iter().map(|(name, index)| (&**name, *index)).collect();
    // The host's function, and `pause`; then these.
    let (hot, warm, cold) = (2, 3, 4);
    assert_eq!(
        places,
        [
            ("cold", cold),
            ("warm", warm),
            ("hot", hot),
            ("proofbox_fuel", 0),
            ("start", cold),
            // What wasmtime has of each is in this order.
            ("declared", hot),
            ("declared", warm),
            ("declared", cold),
            // The table is what it was.
            ("element", cold),
            ("element", warm),
            ("element", hot),
            ("call", cold),
            ("call", hot),
            ("call", 0),
            ("$host", 0),
            ("$hot", hot),
            ("$warm", warm),
            ("$cold", cold),
        ]
    );
}

#[test]
fn a_function_that_is_not_known_has_no_hints() {
    let profile = profile_of(&[100, 100, 99, 1, 0, 1, 100, 100, 100, 0, 100]);
    for (from, to) in [
        ("(local.get 0))\n      (if", "(i32.eqz (local.get 0)))\n      (if"),
        ("(br_if $again (local.get 0))", "(br_if $again (local.get 0)) (br_if $again (local.get 0))"),
        ("(param i32)", "(param i32) (nop)"),
    ] {
        let changed = FUNCTION.replace(from, to);
        assert_ne!(changed, FUNCTION);
        let hinted = meter_with_hints(&module(&changed), &profile).expect("it can be metered");
        assert_eq!((hinted.report.hinted, hinted.report.hints), (0, 0), "{changed}");
        assert_eq!(hinted.module, meter(&module(&changed)).expect("it can be metered").module);
    }
}

#[test]
fn functions_that_look_the_same_share_what_is_counted() {
    let twice = module(&format!("{FUNCTION} {FUNCTION}"));
    let often = [1000, 1000, 0, 1000, 0, 1000, 1000, 1000, 1000, 500, 1000];
    let seldom = [1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 1];
    let counts = [often, seldom].concat();
    let profile = profile(&twice, &counts, Thresholds { branch: 0.1, function: 0.001 }).expect("it was counted");
    assert_eq!(profile.len(), 1);
    let hinted = meter_with_hints(&twice, &profile).expect("it can be metered");
    assert_eq!(hints(&hinted.module), [(1, 1, false), (2, 1, false)]);
}

#[test]
fn counters_have_to_be_those_of_the_module() {
    let module = module(FUNCTION);
    for counts in [&[1; 10][..], &[1; 12][..], &[0; 12 + (1 << 13)][..], &[]] {
        assert!(profile(&module, counts, Thresholds::default()).is_err(), "{}", counts.len());
    }
    // The memory of the counters has whole pages.
    let mut counts = vec![1; 11];
    counts.resize(1 << 13, 0);
    profile(&module, &counts, Thresholds::default()).expect("the rest is empty");
    assert!(count_branches(&module).is_ok());
}

#[test]
fn functions_that_short_runs_reach_come_before_all_others() {
    let text = r#"(module (func (export "0")) (func (export "1") (drop (i32.const 1))) (func (export "2") (drop (i64.const 2)))
        (func (export "3") (nop)))"#;
    let module = wat::parse_str(text).expect("the text is WebAssembly");
    let mut profile = profile(&module, &[7, 1000, 5, 0], Thresholds::default()).expect("it was counted");
    let order = |profile: &BranchProfile| {
        let ordered = meter_with_hints(&module, profile).expect("it can be metered").module;
        let mut places = Vec::new();
        for payload in Parser::new(0).parse_all(&ordered) {
            if let Payload::ExportSection(exports) = payload.expect("a whole module") {
                let exports = exports.into_iter().map(|export| export.expect("a whole export"));
                places
                    .extend(exports.filter(|export| export.name.len() == 1).map(|export| (export.index, export.name)));
            }
        }
        places.sort_unstable();
        places.into_iter().map(|(_, name)| name.to_owned()).collect::<String>()
    };
    assert_eq!(order(&profile), "1023");
    // One of them is reached by nothing else.
    note_short_runs(&mut profile, &module, &[0, 0, 1, 1]).expect("it was counted");
    assert_eq!(order(&profile), "2310");
    assert_eq!(BranchProfile::read(&profile.write()), Ok(profile.clone()));
    assert!(note_short_runs(&mut profile, &module, &[1, 1, 1]).is_err(), "these are not all");
}

#[test]
fn a_profile_is_read_as_it_was_written() {
    let profile = profile_of(&[100, 100, 99, 1, 0, 1, 100, 100, 100, 0, 100]);
    let written = profile.write();
    let read = BranchProfile::read(&written).expect("it is whole");
    assert_eq!(read, profile);
    assert_eq!(read.write(), written);
    let empty = BranchProfile::default();
    assert_eq!(BranchProfile::read(&empty.write()), Ok(empty));
}

#[test]
fn a_profile_that_is_not_whole_is_refused() {
    let one = 0x0102_0304_0506_0708_u64;
    let function = |hash: u64, branches: u8, packed: &[u8]| [&hash.to_le_bytes()[..], &[7, branches], packed].concat();
    let file = |count: u8, functions: &[Vec<u8>]| [&b"\0branch1"[..], &[count], &functions.concat()].concat();
    let good = file(2, &[function(one, 5, &[0b10_01_00_10, 1]), function(one + 1, 1, &[2])]);
    let read = BranchProfile::read(&good).expect("it is whole");
    assert_eq!((read.len(), read.write()), (2, good.clone()));
    for length in 0..8 {
        assert_eq!(BranchProfile::read(&good[..length]), Err(ProfileError::Magic), "{length}");
    }
    for length in 8..good.len() {
        assert_eq!(BranchProfile::read(&good[..length]), Err(ProfileError::Truncated), "{length}");
    }
    let refused = |bytes: &[u8]| BranchProfile::read(bytes).expect_err("it is refused");
    assert_eq!(refused(&[&good[..], b"\0"].concat()), ProfileError::TooLong(1));
    assert_eq!(refused(&[b"\0branch2", &good[8..]].concat()), ProfileError::Magic);
    let one_function = function(one, 1, &[2]);
    assert_eq!(refused(&file(2, &[one_function.clone(), one_function.clone()])), ProfileError::Order);
    assert_eq!(refused(&file(2, &[function(one + 1, 1, &[2]), one_function])), ProfileError::Order);
    assert_eq!(refused(&file(1, &[function(one, 1, &[3])])), ProfileError::Hint);
    // Bits beyond the last branch mean nothing, so there are none.
    assert_eq!(refused(&file(1, &[function(one, 1, &[2 | 1 << 2])])), ProfileError::Hint);
    let endless = [&b"\0branch1"[..], &[0xFF; 12]].concat();
    assert_eq!(refused(&endless), ProfileError::Truncated);
    assert_eq!(ProfileError::Truncated.to_string(), "the profile of branches is cut off");
}

#[test]
fn hints_of_all_kinds_are_where_their_branches_are() {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = move |bound: u64| {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) % bound
    };
    for _ in 0..300 {
        let counts: Vec<u64> = (0..11).map(|_| [0, 1, 50, 100, 10_000][random(5) as usize]).collect();
        let profile = profile_of(&counts);
        let body = module(FUNCTION);
        let expected: Vec<_> = Parser::new(0)
            .parse_all(&body)
            .filter_map(|payload| match payload.expect("a whole module") {
                Payload::CodeSectionEntry(body) => Some(profile.hints_of(&body).expect("a whole body").to_vec()),
                _ => None,
            })
            .flatten()
            .enumerate()
            .filter_map(|(branch, hint)| Some((1, branch, hint? == Hint::Mostly)))
            .collect();
        assert_eq!(hints(&meter_with_hints(&body, &profile).expect("it can be metered").module), expected);
    }
}
