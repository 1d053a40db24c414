//! The counter of `proofbox_metering` beside wasmtime's own fuel, on random programs.

use proofbox_metering::{
    COUNTER, COUNTS, MAX_UNCHARGED, PAUSE, Thresholds, count_branches, meter, meter_with_hints, profile,
};
use wasmtime::{Caller, Config, Engine, Extern, Linker, Module, Store, Val};

/// Random programs that are tried.
const PROGRAMS: u64 = 150;
/// Fuel granted to each.
const GRANT: i64 = 1 << 40;
/// Bound of the ratio between both counts, either way.
const MAX_RATIO: f64 = 8.0;

/// A generator of numbers: xorshift64* (Vigna, 2016).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) % bound
    }
}

/// Writes random programs. Each function has the parameter `$n`; loops are carried out `$n` times, and recursion is as
/// deep.
struct Writer {
    random: Random,
    functions: u64,
    locals: u64,
}

impl Writer {
    fn program(seed: u64) -> String {
        let mut writer = Self { random: Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1), functions: 0, locals: 0 };
        let count = 2 + writer.random.below(5);
        let mut text = "(module (type $t (func (param i32) (result i32))) (memory 4) (table 8 funcref)\n".to_owned();
        for function in 0..count {
            writer.functions = function;
            writer.locals = 0;
            let body = writer.body(3);
            let locals = "(local i32)".repeat(usize::try_from(writer.locals).expect("a few"));
            let recursion = if writer.random.below(3) == 0 {
                format!(
                    "(if (i32.gt_s (local.get $n) (i32.const 0)) (then (drop (call $f{function} (i32.sub (local.get $n) (i32.const 1))))))"
                )
            } else {
                String::new()
            };
            text.push_str(&format!(
                "(func $f{function} (export \"f{function}\") (type $t) (param $n i32) (result i32) (local $acc i32) {locals}\n{body}\n{recursion} (local.get $acc))\n"
            ));
        }
        let elements: Vec<String> = (0..count).map(|function| format!("$f{function}")).collect();
        text.push_str(&format!("(elem (i32.const 0) func {}))", elements.join(" ")));
        text
    }

    fn body(&mut self, depth: u64) -> String {
        (0..=self.random.below(4)).map(|_| self.statement(depth)).collect()
    }

    fn statement(&mut self, depth: u64) -> String {
        match self.random.below(if depth == 0 { 2 } else { 8 }) {
            0 | 1 => "(local.set $acc (i32.xor (i32.add (local.get $acc) (i32.const 3)) (local.get $n)))\n"
                .repeat(1 + usize::try_from(self.random.below(6)).expect("a few")),
            2 | 3 => {
                // The parameter and `$acc` come first.
                let counter = 2 + self.locals;
                self.locals += 1;
                let body = self.body(depth - 1);
                format!(
                    "(local.set {counter} (i32.const 0)) (block $out (loop $next
                       (br_if $out (i32.ge_s (local.get {counter}) (local.get $n)))
                       {body} (local.set {counter} (i32.add (local.get {counter}) (i32.const 1))) (br $next)))\n"
                )
            }
            4 => {
                let (yes, no) = (self.body(depth - 1), self.body(depth - 1));
                format!("(if (i32.and (local.get $acc) (i32.const 1)) (then {yes}) (else {no}))\n")
            }
            5 if self.functions > 0 => {
                let callee = self.random.below(self.functions);
                format!("(local.set $acc (call $f{callee} (i32.const 3)))\n")
            }
            6 if self.functions > 0 => {
                let callee = self.random.below(self.functions);
                format!("(local.set $acc (call_indirect (type $t) (i32.const 2) (i32.const {callee})))\n")
            }
            _ => {
                let body = self.body(depth - 1);
                format!(
                    "(block $a (block $b (block $c (br_table $a $b $c (i32.and (local.get $acc) (i32.const 3)))) {body}) (local.set $acc (i32.const 9)))\n"
                )
            }
        }
    }
}

/// Runs the last function, and returns its result and what wasmtime says it has used.
fn by_wasmtime(module: &[u8], function: &str, n: i32) -> (i32, u64) {
    let mut config = Config::new();
    config.consume_fuel(true);
    let engine = Engine::new(&config).expect("wasmtime runs here");
    let module = Module::new(&engine, module).expect("it is a module");
    let mut store = Store::new(&engine, ());
    store.set_fuel(GRANT.cast_unsigned()).expect("fuel is on");
    let instance = wasmtime::Instance::new(&mut store, &module, &[]).expect("it imports nothing");
    let run = instance.get_typed_func::<i32, i32>(&mut store, function).expect("it is exported");
    let result = run.call(&mut store, n).expect("it ends");
    (result, GRANT.cast_unsigned() - store.get_fuel().expect("fuel is on"))
}

/// Runs the last function metered, with so much in the counter at a time; its result, what it has used, and how far
/// below zero the counter was at most.
fn by_counter(module: &[u8], function: &str, n: i32, slice: i64) -> (i32, u64, u64) {
    let metered = meter(module).expect("it can be metered").module;
    metered_by_counter(&Engine::default(), &metered, function, n, slice)
}

/// The same of a module that is metered.
fn metered_by_counter(engine: &Engine, module: &[u8], function: &str, n: i32, slice: i64) -> (i32, u64, u64) {
    let module = Module::new(engine, module).expect("it is a module");
    let mut linker: Linker<(u64, u64)> = Linker::new(engine);
    linker
        .func_wrap(PAUSE.0, PAUSE.1, move |mut caller: Caller<'_, (u64, u64)>| {
            let Some(Extern::Global(counter)) = caller.get_export(COUNTER) else { panic!("it is exported") };
            let below = -counter.get(&mut caller).unwrap_i64();
            assert!(below > 0, "it pauses below zero only");
            let (used, deepest) = *caller.data();
            let used = used + (slice + below).cast_unsigned();
            *caller.data_mut() = (used, deepest.max(below.cast_unsigned()));
            counter.set(&mut caller, Val::I64(slice)).expect("it is mutable");
        })
        .expect("a new name");
    let mut store = Store::new(engine, (0, 0));
    let instance = linker.instantiate(&mut store, &module).expect("it can be instantiated");
    let counter = instance.get_global(&mut store, COUNTER).expect("it is exported");
    counter.set(&mut store, Val::I64(slice)).expect("it is mutable");
    let run = instance.get_typed_func::<i32, i32>(&mut store, function).expect("it is exported");
    let result = run.call(&mut store, n).expect("it ends");
    let left = counter.get(&mut store).unwrap_i64();
    let (used, deepest) = *store.data();
    (result, (used.cast_signed() + slice - left).cast_unsigned(), deepest)
}

#[test]
fn counts_grow_with_the_work_as_wasmtimes_do() {
    for seed in 0..PROGRAMS {
        let text = Writer::program(seed);
        let module = wat::parse_str(&text).expect("it writes WebAssembly");
        let report = meter(&module).expect("it can be metered").report;
        let function = format!("f{}", report.functions - 1);
        let mut before = 0;
        for n in [2, 6] {
            let (result, fuel) = by_wasmtime(&module, &function, n);
            let (metered_result, counted, _) = by_counter(&module, &function, n, GRANT);
            assert_eq!(result, metered_result, "seed {seed}, n {n}: {text}");
            assert!(counted >= before, "seed {seed}: {counted} for {n}, {before} before");
            before = counted;
            // Below that, a program has no loop and is charged for next to nothing.
            if fuel > 2_000 {
                #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
                let ratio = counted as f64 / fuel as f64;
                assert!((1.0 / MAX_RATIO..MAX_RATIO).contains(&ratio), "seed {seed}, n {n}: {ratio} {fuel}: {text}");
            }
        }
    }
}

#[test]
fn bulk_operations_cost_what_they_move() {
    let text = r#"(module (memory 4)
        (func (export "f") (param $n i32) (result i32) (local i64 i32)
          (memory.fill (i32.const 8) (i32.const 7) (local.get $n))
          (memory.copy (i32.const 100000) (i32.const 8) (local.get $n))
          (i32.load8_u (i32.add (i32.const 99999) (local.get $n)))))"#;
    let module = wat::parse_str(text).expect("it is WebAssembly");
    for n in [1, 8, 80_000] {
        let (result, counted, _) = by_counter(&module, "f", n, GRANT);
        assert_eq!((result, counted), (7, 2 * u64::from(n.cast_unsigned() / 8)));
    }
}

#[test]
fn the_count_does_not_depend_on_the_time_slices() {
    for seed in 0..PROGRAMS / 3 {
        let module = wat::parse_str(Writer::program(seed)).expect("it writes WebAssembly");
        let report = meter(&module).expect("it can be metered").report;
        let function = format!("f{}", report.functions - 1);
        let (result, whole, _) = by_counter(&module, &function, 4, GRANT);
        let (sliced_result, sliced, deepest) = by_counter(&module, &function, 4, 50);
        assert_eq!((result, whole), (sliced_result, sliced), "seed {seed}");
        assert!(deepest <= MAX_UNCHARGED, "seed {seed}: {deepest}");
    }
}

/// Runs a function in the module that counts branches; its result, and the counters.
fn counted(module: &[u8], function: &str, n: i32) -> (i32, Vec<u64>) {
    let engine = Engine::default();
    let module = Module::new(&engine, count_branches(module).expect("it can be counted")).expect("it is a module");
    let mut store = Store::new(&engine, ());
    let instance = wasmtime::Instance::new(&mut store, &module, &[]).expect("it imports nothing");
    let run = instance.get_typed_func::<i32, i32>(&mut store, function).expect("it is exported");
    let result = run.call(&mut store, n).expect("it ends");
    let counts = instance.get_memory(&mut store, COUNTS).expect("it is exported").data(&store);
    (result, counts.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
}

#[test]
fn branches_are_counted() {
    let text = r#"(module (func (export "f") (param $n i32) (result i32) (local $i i32)
        (block $out
          (loop $next
            (br_if $out (i32.ge_s (local.get $i) (local.get $n)))
            (if (i32.and (local.get $i) (i32.const 1)) (then (nop)) (else (nop)))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br $next)))
        (local.get $i)))"#;
    let (result, counts) = counted(&wat::parse_str(text).expect("it is WebAssembly"), "f", 7);
    assert_eq!(result, 7);
    // Entry; head; `br_if` reached, taken; `if` reached, taken, left; end of the loop; end of the block.
    assert_eq!(counts[..9], [1, 8, 8, 1, 7, 3, 7, 0, 1]);
    assert!(counts[9..].iter().all(|count| *count == 0));
}

#[test]
fn hints_change_neither_results_nor_fuel() {
    let mut hints = 0;
    let mut config = Config::new();
    config.wasm_branch_hinting(true);
    let hinting = Engine::new(&config).expect("wasmtime runs here");
    for seed in 0..PROGRAMS / 2 {
        let module = wat::parse_str(Writer::program(seed)).expect("it writes WebAssembly");
        let function = format!("f{}", meter(&module).expect("it can be metered").report.functions - 1);
        let (result, counts) = counted(&module, &function, 6);
        let profile = profile(&module, &counts, Thresholds::default()).expect("it was counted");
        let hinted = meter_with_hints(&module, &profile).expect("it can be metered");
        hints += hinted.report.hints;
        for n in [0, 3, 6] {
            let plain = by_counter(&module, &function, n, 50);
            assert_eq!(plain, metered_by_counter(&hinting, &hinted.module, &function, n, 50), "seed {seed}, n {n}");
        }
        assert_eq!(result, by_counter(&module, &function, 6, GRANT).0, "seed {seed}");
    }
    assert!(hints > 100, "{hints}");
}
