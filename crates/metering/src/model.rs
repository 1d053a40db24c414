//! Plan of the charges: where they are, what each costs, and how much can be carried out between two of them.
//!
//! The cost of a charge is the expected number of operators up to the next one, if branches were taken by chance. What it
//! costs to call a function that is not charged at its entry is its caller's. Paths are followed through the structured
//! control flow in one pass over each body, callees first.

use wasmparser::{FunctionBody, Operator};

use crate::call_graph::CallGraph;
use crate::sections::Sections;
use crate::{Error, MAX_UNCHARGED};

/// Chance that a conditional branch forward is taken.
const TAKEN_FORWARD: f64 = 0.25;
/// Chance that a conditional branch back to a loop's head is taken.
const TAKEN_BACK: f64 = 0.5;
/// Operators that an indirect call counts for: those of the callee's entry, whichever it is.
const INDIRECT_CALL: f64 = 20.0;
/// Targets of a branch table from which on a loop around it dispatches: an interpreter's.
const DISPATCH_TARGETS: u32 = 64;
/// Most operators that one turn of such a loop counts for. Its targets are not taken alike: those that are taken most
/// are short. With this, fuel for a second of CPU time differs least between programs (loadtest/README.md).
const MAX_DISPATCH: f64 = 90.0;
/// Longest path through a function that need not be charged at its entry, in operators.
const MAX_THROUGH: u64 = 4096;

/// Longest path to a call, in operators, from which on there is a charge before it: only long functions without a loop,
/// which prepare modules, have such paths.
const MAX_STRAIGHT: u64 = MAX_UNCHARGED / 2;
/// Cost of such a charge: what is carried out is paid for at the entry.
pub(crate) const STRAIGHT: u64 = 1;

/// Charges of one function.
#[derive(Clone, Debug, Default)]
pub(crate) struct FunctionPlan {
    /// Cost of the charge at the entry, where there is one.
    pub entry: Option<u64>,
    /// Costs of the charges at loop heads, in the order of the loops.
    pub loops: Vec<u64>,
    /// Calls that are charged because the path to them is long, by index among the operators, in their order.
    pub calls: Vec<usize>,
}

/// Charges of a module.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Charges of each function that is defined.
    pub functions: Vec<FunctionPlan>,
    /// Cost of an indirect call.
    pub indirect_call: u64,
    /// Longest path between two charges, in operators.
    pub longest_uncharged: u64,
}

/// Number of operators that an operator counts for: what only structures the code counts for none.
pub(crate) fn operators(operator: &Operator<'_>) -> u64 {
    match operator {
        Operator::Nop
        | Operator::Drop
        | Operator::Block { .. }
        | Operator::Loop { .. }
        | Operator::Unreachable
        | Operator::Return
        | Operator::Else
        | Operator::End => 0,
        _ => 1,
    }
}

/// Plans the charges of a module.
pub(crate) fn plan(sections: &Sections<'_>, graph: &CallGraph) -> Result<Plan, Error> {
    let mut summaries: Vec<Option<Summary>> = vec![None; graph.len()];
    let mut functions = vec![FunctionPlan::default(); graph.len()];
    let mut longest_uncharged = 0;
    for function in graph.callees_first() {
        let mut walk = Walk::new(&summaries, sections.imported_functions);
        walk.follow(&sections.bodies[function])?;
        let Walk { loops, calls, paths, expected, .. } = walk;
        let longest = paths.longest();
        if longest > MAX_UNCHARGED {
            return Err(Error::Unbounded { function, operators: longest });
        }
        longest_uncharged = longest_uncharged.max(longest);
        let is_charged = graph.is_cut(function) || paths.through.unwrap_or(0).max(paths.head) > MAX_THROUGH;
        let plan = &mut functions[function];
        plan.loops = loops.into_iter().map(|(expected, most)| cost(expected.min(most))).collect();
        plan.calls = calls;
        plan.entry = is_charged.then(|| cost(expected));
        summaries[function] = (!is_charged).then_some(Summary { paths, expected });
    }
    Ok(Plan { functions, indirect_call: cost(INDIRECT_CALL), longest_uncharged })
}

/// Returns the cost of an expected number of operators, in units of fuel.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of operators, below 2^32")]
fn cost(expected: f64) -> u64 {
    expected.round().clamp(1.0, f64::from(u32::MAX)) as u64
}

/// Effect of a call of a function that is not charged at its entry.
#[derive(Clone, Debug)]
struct Summary {
    paths: Paths,
    expected: f64,
}

/// Longest paths through a function, in operators.
#[derive(Clone, Copy, Debug, Default)]
struct Paths {
    /// From the entry to the end without a charge.
    through: Option<u64>,
    /// From the entry to the first charge.
    head: u64,
    /// From the last charge to the end.
    tail: Option<u64>,
    /// Between two charges.
    inner: u64,
}

impl Paths {
    fn longest(&self) -> u64 {
        self.head.max(self.inner).max(self.through.unwrap_or(0)).max(self.tail.unwrap_or(0))
    }
}

/// Longest paths to a point, in operators; none where no such path leads there.
#[derive(Clone, Copy, Debug, Default)]
struct Reach {
    /// From the entry, without a charge.
    since_entry: Option<u64>,
    /// From the last charge.
    since_charge: Option<u64>,
}

impl Reach {
    fn join(self, other: Self) -> Self {
        Self {
            since_entry: self.since_entry.max(other.since_entry),
            since_charge: self.since_charge.max(other.since_charge),
        }
    }

    fn longest(self) -> u64 {
        self.since_entry.max(self.since_charge).unwrap_or(0)
    }

    fn is_reached(self) -> bool {
        self.since_entry.is_some() || self.since_charge.is_some()
    }
}

/// A block, loop, branch of an `if`, or the function itself, while it is followed.
struct Frame {
    kind: FrameKind,
    /// Longest paths to its end, by branches.
    end: Reach,
    /// Chance that its end is reached by a branch, where its beginning has that of its loop.
    end_chance: f64,
}

enum FrameKind {
    Block,
    If {
        /// Paths to the `else`.
        otherwise: Reach,
        /// Chance of the `else`.
        otherwise_chance: f64,
    },
    Loop {
        /// Chance of reaching the loop from outside.
        outside: f64,
        /// Loop around it.
        around: Option<usize>,
        /// Branches out of it: the frame that they lead to, and their chance in one turn.
        exits: Vec<(usize, f64)>,
    },
}

/// A walk over one body.
struct Walk<'s> {
    summaries: &'s [Option<Summary>],
    imported_functions: u32,
    frames: Vec<Frame>,
    reach: Reach,
    /// Chance of reaching this point in one turn of the innermost loop.
    chance: f64,
    /// The innermost loop.
    inside: Option<usize>,
    /// Expected operators of one turn of each loop, at most the second number.
    loops: Vec<(f64, f64)>,
    /// Calls that are charged.
    calls: Vec<usize>,
    /// Expected operators outside of loops.
    expected: f64,
    paths: Paths,
}

impl<'s> Walk<'s> {
    fn new(summaries: &'s [Option<Summary>], imported_functions: u32) -> Self {
        Self {
            summaries,
            imported_functions,
            frames: vec![Frame { kind: FrameKind::Block, end: Reach::default(), end_chance: 0.0 }],
            reach: Reach { since_entry: Some(0), since_charge: None },
            chance: 1.0,
            inside: None,
            loops: Vec::new(),
            calls: Vec::new(),
            expected: 0.0,
            paths: Paths::default(),
        }
    }

    fn follow(&mut self, body: &FunctionBody<'_>) -> Result<(), Error> {
        for (index, operator) in body.get_operators_reader()?.into_iter().enumerate() {
            let operator = operator?;
            if matches!(operator, Operator::Call { .. }) && self.reach.longest() > MAX_STRAIGHT {
                self.calls.push(index);
                self.charge();
            }
            self.pass(operators(&operator));
            self.step(&operator)?;
        }
        Ok(())
    }

    fn step(&mut self, operator: &Operator<'_>) -> Result<(), Error> {
        match operator {
            Operator::Block { .. } => self.open(FrameKind::Block),
            Operator::Loop { .. } => {
                self.charge();
                let index = self.loops.len();
                self.loops.push((0.0, f64::INFINITY));
                let (outside, around) = (self.chance, self.inside.replace(index));
                self.chance = if self.reach.is_reached() { 1.0 } else { 0.0 };
                self.open(FrameKind::Loop { outside, around, exits: Vec::new() });
            }
            Operator::If { .. } => {
                self.chance /= 2.0;
                self.open(FrameKind::If { otherwise: self.reach, otherwise_chance: self.chance });
            }
            Operator::Else => self.turn_to_else(),
            Operator::End => self.close(),
            Operator::Br { relative_depth } => {
                self.branch(*relative_depth, 1.0);
                self.stop();
            }
            Operator::BrIf { relative_depth } => {
                let taken = if self.is_loop(*relative_depth) { TAKEN_BACK } else { TAKEN_FORWARD };
                self.branch(*relative_depth, taken);
                self.chance *= 1.0 - taken;
            }
            Operator::BrTable { targets } => {
                if let Some(index) = self.inside
                    && targets.len() >= DISPATCH_TARGETS
                {
                    self.loops[index].1 = MAX_DISPATCH;
                }
                let share = 1.0 / (f64::from(targets.len()) + 1.0);
                for target in targets.targets() {
                    self.branch(target?, share);
                }
                self.branch(targets.default(), share);
                self.stop();
            }
            Operator::Return => {
                self.branch(self.outermost(), 1.0);
                self.stop();
            }
            Operator::Unreachable => self.stop(),
            Operator::Call { function_index } => self.call(*function_index),
            Operator::CallIndirect { .. } => self.charge(),
            Operator::ReturnCall { .. }
            | Operator::ReturnCallIndirect { .. }
            | Operator::ReturnCallRef { .. }
            | Operator::CallRef { .. }
            | Operator::TableCopy { .. }
            | Operator::TableFill { .. }
            | Operator::TableInit { .. }
            | Operator::TableGrow { .. }
            | Operator::TryTable { .. }
            | Operator::Throw { .. }
            | Operator::ThrowRef
            | Operator::BrOnNull { .. }
            | Operator::BrOnNonNull { .. }
            | Operator::BrOnCast { .. }
            | Operator::BrOnCastFail { .. } => return Err(Error::Unsupported(format!("{operator:?}"))),
            _ => {}
        }
        Ok(())
    }

    /// Counts operators on the way.
    fn pass(&mut self, operators: u64) {
        if !self.reach.is_reached() {
            return;
        }
        let add = |path: Option<u64>| path.map(|path| path.saturating_add(operators));
        self.reach = Reach { since_entry: add(self.reach.since_entry), since_charge: add(self.reach.since_charge) };
        #[expect(clippy::cast_precision_loss, reason = "0 or 1")]
        self.expect(operators as f64);
    }

    /// Adds operators that are carried out here to what one turn of the loop, or the entry, is expected to cost.
    fn expect(&mut self, operators: f64) {
        let expected = match self.inside {
            Some(index) => &mut self.loops[index].0,
            None => &mut self.expected,
        };
        *expected += operators * self.chance;
    }

    /// Passes a charge.
    fn charge(&mut self) {
        let Reach { since_entry, since_charge } = self.reach;
        self.paths.head = self.paths.head.max(since_entry.unwrap_or(0));
        self.paths.inner = self.paths.inner.max(since_charge.unwrap_or(0));
        if self.reach.is_reached() {
            self.reach = Reach { since_entry: None, since_charge: Some(0) };
        }
    }

    /// Passes a call. What is left of a function after it is paid for when it is entered: returns are no charges.
    fn call(&mut self, function: u32) {
        let Some(callee) = function.checked_sub(self.imported_functions) else { return };
        let Some(Summary { paths, expected }) = self.summaries.get(callee as usize).and_then(Option::as_ref) else {
            self.charge();
            return;
        };
        let (paths, expected) = (*paths, *expected);
        if !self.reach.is_reached() {
            return;
        }
        self.expect(expected);
        let Reach { since_entry, since_charge } = self.reach;
        let add = |path: Option<u64>, more: Option<u64>| Some(path?.saturating_add(more?));
        self.paths.head = self.paths.head.max(add(since_entry, Some(paths.head)).unwrap_or(0));
        self.paths.inner = self.paths.inner.max(add(since_charge, Some(paths.head)).unwrap_or(0)).max(paths.inner);
        self.reach = Reach {
            since_entry: add(since_entry, paths.through),
            since_charge: add(since_charge, paths.through).max(paths.tail),
        };
        // A callee that always ends in a trap is followed by nothing.
        if !self.reach.is_reached() {
            self.chance = 0.0;
        }
    }

    fn open(&mut self, kind: FrameKind) {
        self.frames.push(Frame { kind, end: Reach::default(), end_chance: 0.0 });
    }

    /// Follows nothing until the end of the frame.
    fn stop(&mut self) {
        self.reach = Reach::default();
        self.chance = 0.0;
    }

    fn outermost(&self) -> u32 {
        u32::try_from(self.frames.len() - 1).unwrap_or(u32::MAX)
    }

    fn frame_at(&self, depth: u32) -> usize {
        self.frames.len().saturating_sub(1 + depth as usize)
    }

    fn is_loop(&self, depth: u32) -> bool {
        matches!(self.frames[self.frame_at(depth)].kind, FrameKind::Loop { .. })
    }

    /// Takes a branch with that chance.
    fn branch(&mut self, depth: u32, taken: f64) {
        if !self.reach.is_reached() {
            return;
        }
        let target = self.frame_at(depth);
        if matches!(self.frames[target].kind, FrameKind::Loop { .. }) {
            // Its head is charged.
            let Reach { since_entry, since_charge } = self.reach;
            self.paths.head = self.paths.head.max(since_entry.unwrap_or(0));
            self.paths.inner = self.paths.inner.max(since_charge.unwrap_or(0));
            return;
        }
        let chance = self.chance * taken;
        self.frames[target].end = self.frames[target].end.join(self.reach);
        self.arrive(target, chance, self.frames.len());
    }

    /// Adds the chance of a branch to the end of a frame; one out of a loop counts when the loop is left. `below` is the
    /// number of frames that are open where the branch is.
    fn arrive(&mut self, target: usize, chance: f64, below: usize) {
        for inner in (target + 1..below).rev() {
            if let FrameKind::Loop { exits, .. } = &mut self.frames[inner].kind {
                exits.push((target, chance));
                return;
            }
        }
        self.frames[target].end_chance += chance;
    }

    fn turn_to_else(&mut self) {
        let (reach, chance) = (self.reach, self.chance);
        let Some(frame) = self.frames.last_mut() else { return };
        frame.end = frame.end.join(reach);
        frame.end_chance += chance;
        if let FrameKind::If { otherwise, otherwise_chance } = std::mem::replace(&mut frame.kind, FrameKind::Block) {
            (self.reach, self.chance) = (otherwise, otherwise_chance);
        }
    }

    fn close(&mut self) {
        let Some(Frame { kind, end, end_chance }) = self.frames.pop() else { return };
        match kind {
            FrameKind::Block => {
                self.reach = self.reach.join(end);
                self.chance += end_chance;
            }
            FrameKind::If { otherwise, otherwise_chance } => {
                self.reach = self.reach.join(end).join(otherwise);
                self.chance += end_chance + otherwise_chance;
            }
            FrameKind::Loop { outside, around, exits } => {
                let all = self.chance + exits.iter().map(|(_, chance)| chance).sum::<f64>();
                let share = if all > 0.0 { outside / all } else { 0.0 };
                self.inside = around;
                self.chance *= share;
                for (target, chance) in exits {
                    self.arrive(target, chance * share, self.frames.len());
                }
            }
        }
        if self.frames.is_empty() {
            self.paths.through = self.reach.since_entry;
            self.paths.tail = self.reach.since_charge;
        }
    }
}
