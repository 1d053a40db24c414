//! What is charged, what is refused, and what `verify` finds where a charge is missing.

use proofbox_metering::{Error, Lasting, MAX_UNCHARGED, Metered, Violation, check_resettable, meter, verify};

fn metered(text: &str) -> Metered {
    meter(&wat::parse_str(text).expect("the text is WebAssembly")).expect("it can be metered")
}

/// Returns why a module can't be metered.
fn refused(text: &str) -> Error {
    meter(&wat::parse_str(text).expect("the text is WebAssembly")).expect_err("it is refused")
}

/// A module that is said to be metered: `body` is the rest of it. `$charge` is what a charge has to be, `$by_length` what
/// it has to be before a bulk operation, of the local `$length`.
fn handmade(body: &str) -> Result<(), Error> {
    const CHARGE: &str = "(global.set $fuel (i64.sub (global.get $fuel) (i64.const 7)))
        (if (i64.lt_s (global.get $fuel) (i64.const 0)) (then (call $pause)))";
    const BY_LENGTH: &str = "(global.set $fuel (i64.sub (global.get $fuel)
          (i64.extend_i32_u (i32.shr_u (local.get $length) (i32.const 3)))))
        (if (i64.lt_s (global.get $fuel) (i64.const 0)) (then (call $pause)))";
    let body = body.replace("$charge", CHARGE).replace("$by_length", BY_LENGTH);
    let text = format!(
        r#"(module (import "proofbox" "pause" (func $pause)) (import "host" "call" (func $host))
           (memory 1) (table 2 funcref) (type $plain (func))
           (global $fuel (mut i64) (i64.const 0)) (export "proofbox_fuel" (global $fuel)) {body})"#
    );
    verify(&wat::parse_str(text).expect("the text is WebAssembly"))
}

fn violation(body: &str) -> Violation {
    match handmade(body) {
        Err(Error::Violation(violation)) => violation,
        other => panic!("{other:?}"),
    }
}

#[test]
fn loops_indirect_calls_and_recursion_are_charged() {
    let report = metered(
        r"(module (type $t (func)) (table 1 funcref)
             (func $straight (nop))
             (func $looping (loop (br_if 0 (i32.const 1)) (loop (br 0))))
             (func $indirect (call_indirect (type $t) (i32.const 0)) (call $straight))
             (func $self (call $self))
             (func $ping (call $pong)) (func $pong (call $ping)))",
    )
    .report;
    assert_eq!((report.functions, report.loops, report.indirect_calls), (6, 2, 1));
    // One that calls itself, and one of the two that call each other.
    assert_eq!(report.entries, 2);
}

#[test]
fn indices_stay_those_of_what_was_named() {
    let module = metered(
        r#"(module (import "host" "call" (func $host (param i32))) (global $mine (mut i32) (i32.const 5))
             (table (export "table") 1 funcref) (elem (i32.const 0) func $second) (elem $passive func $first) (start $first)
             (func $first (call $host (global.get $mine)) (elem.drop $passive))
             (func $second (export "second") (param i64) (result i64) (local.get 0)))"#,
    )
    .module;
    assert_eq!(
        indices(&module),
        [
            "table: Table 0",
            "second: Func 3",
            "proofbox_fuel: Global 1",
            "start: 2",
            // All functions in tables, in a segment that declares them; then those that were there.
            "element: 2",
            "element: 3",
            "element: 3",
            "element: 2",
            "GlobalGet { global_index: 0 }",
            "Call { function_index: 0 }",
            "ElemDrop { elem_index: 2 }"
        ]
    );
}

/// Lists what a module says of functions, globals and segments by their indices: exports, start, elements, and code.
fn indices(module: &[u8]) -> Vec<String> {
    use wasmparser::{ElementItems, Operator, Payload};
    let mut found = Vec::new();
    for payload in wasmparser::Parser::new(0).parse_all(module) {
        match payload.expect("a whole module") {
            Payload::ExportSection(reader) => {
                for export in reader.into_iter().map(|export| export.expect("a whole export")) {
                    found.push(format!("{}: {:?} {}", export.name, export.kind, export.index));
                }
            }
            Payload::StartSection { func, .. } => found.push(format!("start: {func}")),
            Payload::ElementSection(reader) => {
                for element in reader {
                    if let ElementItems::Functions(functions) = element.expect("a whole element").items {
                        let functions = functions.into_iter().map(|function| function.expect("an index"));
                        found.extend(functions.map(|function| format!("element: {function}")));
                    }
                }
            }
            Payload::CodeSectionEntry(body) => {
                for operator in body.get_operators_reader().expect("a whole body") {
                    let operator = operator.expect("a whole operator");
                    if matches!(
                        operator,
                        Operator::Call { .. } | Operator::GlobalGet { .. } | Operator::ElemDrop { .. }
                    ) {
                        found.push(format!("{operator:?}"));
                    }
                }
            }
            _ => {}
        }
    }
    found
}

#[test]
fn bulk_operations_of_unknown_length_are_charged_by_bytes() {
    let report = metered(
        r"(module (memory 1)
             (func (param i32) (memory.fill (i32.const 0) (i32.const 1) (local.get 0)))
             (func (param i32) (memory.copy (i32.const 0) (i32.const 1) (local.get 0)))
             (func (memory.copy (i32.const 0) (i32.const 1) (i32.const 64)))
             (func (memory.copy (i32.const 0) (i32.const 1) (i32.const 1000000))))",
    )
    .report;
    assert_eq!(report.bulk_operations, 3);
}

#[test]
fn the_longest_path_is_that_of_the_longer_branch_and_of_all_callees() {
    let report = metered(
        r"(module (func $callee (result i32) (i32.add (i32.const 1) (i32.const 2)))
             (func (param i32) (result i32)
               (if (result i32) (local.get 0)
                 (then (i32.add (call $callee) (call $callee)))
                 (else (i32.const 0)))))",
    )
    .report;
    // local.get, if, two calls with three operators each, and the addition.
    assert_eq!(report.longest_uncharged, 2 + 2 * (1 + 3) + 1);
}

#[test]
fn long_chains_of_calls_are_cut() {
    // Each function calls the one before it twice: 2^30 operators without a loop.
    let mut text = "(module (func $f0 (drop (i32.const 1)))".to_owned();
    for level in 1..30 {
        let below = level - 1;
        text.push_str(&format!("(func $f{level} (call $f{below}) (call $f{below}))"));
    }
    let report = metered(&(text + ")")).report;
    assert!(report.entries > 0);
    assert!(report.longest_uncharged < 10_000, "{report:?}");
}

#[test]
fn a_long_row_of_calls_is_charged_on_the_way() {
    // What prepares a module: hundreds of calls one after the other, each too short to be charged itself.
    let callee = "(drop (i32.const 1))".repeat(4000);
    let calls = "(call $callee)".repeat(600);
    let report = metered(&format!("(module (func $callee {callee}) (func {calls}))")).report;
    assert!(report.long_paths > 0, "{report:?}");
    assert!(report.longest_uncharged < MAX_UNCHARGED / 2 + 10_000, "{report:?}");
}

#[test]
fn a_function_that_is_too_long_is_refused() {
    let text = format!("(module (func (param i32) {}))", "(drop (local.get 0))".repeat(1 << 20 | 1));
    assert!(matches!(refused(&text), Error::Unbounded { function: 0, .. }));
}

#[test]
fn names_of_the_counter_are_taken() {
    let counter = r#"(module (global (export "proofbox_fuel") (mut i64) (i64.const 0)))"#;
    let pause = r#"(module (import "proofbox" "pause" (func)))"#;
    assert!(matches!(refused(counter), Error::Taken("proofbox_fuel")));
    assert!(matches!(refused(pause), Error::Taken("pause")));
}

#[test]
fn what_is_not_followed_is_refused() {
    for text in [
        "(module (func $f (return_call $f)))",
        "(module (type $t (func)) (table 1 funcref) (func (return_call_indirect (type $t) (i32.const 0))))",
        "(module (table 1 funcref) (func (table.copy (i32.const 0) (i32.const 0) (i32.const 1))))",
        "(module (memory i64 1) (func))",
    ] {
        assert!(matches!(refused(text), Error::Unsupported(_)), "{text}");
    }
}

#[test]
fn verify_finds_what_is_not_charged() {
    assert_eq!(violation("(func (loop (br 0)))"), Violation::Loop { function: 0 });
    assert_eq!(violation("(func (nop)) (func (loop (nop) $charge (br 0)))"), Violation::Loop { function: 1 });
    assert_eq!(
        violation("(func (call_indirect (type $plain) (i32.const 0)))"),
        Violation::IndirectCall { function: 0 }
    );
    assert_eq!(
        violation("(func (memory.fill (i32.const 0) (i32.const 0) (i32.const 99999)))"),
        Violation::Bulk { function: 0 }
    );
    assert_eq!(violation("(func (global.set $fuel (i64.const 9)))"), Violation::Counter { function: 0 });
    assert_eq!(violation("(func (call $pause))"), Violation::Counter { function: 0 });
    assert_eq!(
        violation("(func $a (call $b)) (func $b (call $a)) (func (call $a))"),
        Violation::Circle { functions: vec![0, 1, 2] }
    );
    for operator in [
        "(return_call 2)",
        "(table.copy (i32.const 0) (i32.const 0) (i32.const 1))",
        "(table.fill (i32.const 0) (ref.null func) (i32.const 1))",
        "(drop (table.grow (ref.null func) (i32.const 1)))",
    ] {
        let found = violation(&format!("(func {operator})"));
        assert!(matches!(found, Violation::Operator { function: 0, .. }), "{operator}: {found:?}");
    }
}

#[test]
fn verify_takes_charges_for_what_they_are() {
    handmade("(func $a $charge (call $b)) (func $b (call $a)) (func (loop $charge (br 0)))").expect("all is charged");
    // A charge that gives back is none.
    let refund = "(global.set $fuel (i64.sub (global.get $fuel) (i64.const -7)))
        (if (i64.lt_s (global.get $fuel) (i64.const 0)) (then (call $pause)))";
    assert_eq!(violation(&format!("(func (loop {refund} (br 0)))")), Violation::Loop { function: 0 });
}

#[test]
fn verify_takes_a_charge_by_length_for_that_of_a_bulk_operation_alone() {
    let fill = "(i32.const 0) (i32.const 0) (local.get 0)";
    handmade(&format!("(func (param i32) (local $length i32) {fill} (local.tee $length) $by_length (memory.fill))"))
        .expect("it is charged");
    for (other, found) in [
        ("$charge (memory.fill)", Violation::Bulk { function: 0 }),
        ("(local.tee $length) $by_length (i32.const 8) (i32.add) (memory.fill)", Violation::Bulk { function: 0 }),
        // Of a local that says nothing of the length.
        ("$by_length (memory.fill)", Violation::Counter { function: 0 }),
        ("(local.tee 0) $by_length (memory.fill)", Violation::Counter { function: 0 }),
    ] {
        assert_eq!(violation(&format!("(func (param i32) (local $length i32) {fill} {other})")), found, "{other}");
    }
    // Where the length is zero, it is none.
    let free = "(i32.const 0) (local.tee $length) $by_length";
    assert_eq!(
        violation(&format!("(func $f (local $length i32) {free} (drop) (call $f))")),
        Violation::Circle { functions: vec![0] }
    );
    assert_eq!(
        violation(&format!("(func (local $length i32) {free} (call_indirect (type $plain)))")),
        Violation::IndirectCall { function: 0 }
    );
}

#[test]
fn verify_refuses_charges_that_take_the_counter_round() {
    let large = "(global.set $fuel (i64.sub (global.get $fuel) (i64.const 0x7fff_ffff_ffff_ffff)))
        (if (i64.lt_s (global.get $fuel) (i64.const 0)) (then (call $pause)))";
    assert_eq!(violation(&format!("(func (loop {large} (br 0)))")), Violation::Loop { function: 0 });
}

#[test]
fn a_module_without_a_counter_is_not_metered() {
    let plain = wat::parse_str("(module (func))").expect("the text is WebAssembly");
    assert!(matches!(verify(&plain), Err(Error::Violation(Violation::Missing(_)))));
}

#[test]
fn what_no_reset_would_undo_is_refused() {
    let check = |rest: &str| {
        let text = format!(
            r#"(module (memory 1) (table 1 funcref) (data $data "x") (elem $elements func $f)
                 (global $counter (mut i64) (i64.const 0)) (export "proofbox_fuel" (global $counter))
                 (global $stack (mut i32) (i32.const 0)) (export "__stack_pointer" (global $stack))
                 (global $constant i32 (i32.const 5)) (func $f (global.set $stack (i32.const 8))) {rest})"#
        );
        match check_resettable(&wat::parse_str(text).expect("the text is WebAssembly")) {
            Ok(()) => None,
            Err(Error::Lasting(lasting)) => Some(lasting),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(check(""), None);
    assert_eq!(check("(memory 1)"), Some(Lasting::Shared("more than one memory")));
    assert_eq!(check("(global (mut f64) (f64.const 0))"), Some(Lasting::Global { index: 3 }));
    for code in [
        "(table.set 0 (i32.const 0) (ref.null func))",
        "(drop (table.grow 0 (ref.null func) (i32.const 1)))",
        "(table.fill 0 (i32.const 0) (ref.null func) (i32.const 1))",
        "(table.copy 0 0 (i32.const 0) (i32.const 0) (i32.const 0))",
        "(table.init $elements (i32.const 0) (i32.const 0) (i32.const 0))",
        "(elem.drop $elements)",
        "(data.drop $data)",
    ] {
        let found = check(&format!("(func {code})"));
        assert!(matches!(found, Some(Lasting::Operator { function: 1, .. })), "{code}: {found:?}");
    }
}
