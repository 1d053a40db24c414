//! Direct calls between the functions that a module defines, and the functions that cut every cycle of them.

use std::collections::BTreeSet;

use wasmparser::Operator;

use crate::Error;
use crate::sections::Sections;

/// Share of a cycle's functions that are charged before it is looked at again, one in this many.
const AT_ONCE: usize = 150;

/// Direct calls, by index among the functions that are defined.
pub(crate) struct CallGraph {
    /// Functions that each function calls.
    calls: Vec<BTreeSet<usize>>,
    /// Functions that are charged at their entry: without them there is no cycle.
    cut: Vec<bool>,
}

impl CallGraph {
    /// Reads the calls of a module, and cuts their cycles.
    pub(crate) fn of(sections: &Sections<'_>) -> Result<Self, Error> {
        let calls = sections.bodies.iter().map(|body| {
            let mut callees = BTreeSet::new();
            for operator in body.get_operators_reader()? {
                if let Operator::Call { function_index } = operator?
                    && let Some(callee) = function_index.checked_sub(sections.imported_functions)
                {
                    callees.insert(callee as usize);
                }
            }
            Ok(callees)
        });
        let mut graph = Self { calls: calls.collect::<Result<_, Error>>()?, cut: vec![false; sections.bodies.len()] };
        if graph.calls.iter().flatten().any(|&callee| callee >= graph.cut.len()) {
            return Err(Error::Encode("a call of a function that is not there".to_owned()));
        }
        graph.cut_cycles();
        Ok(graph)
    }

    /// Number of functions.
    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Returns whether a function must be charged at its entry.
    pub(crate) fn is_cut(&self, function: usize) -> bool {
        self.cut[function]
    }

    /// Functions in an order in which each comes after all that it calls and that are not cut; those that are cut last.
    ///
    /// # Panics
    /// Panics when there is a cycle that is not cut: [`CallGraph::of`] leaves none.
    pub(crate) fn callees_first(&self) -> Vec<usize> {
        let (cut, free): (Vec<usize>, Vec<usize>) = (0..self.len()).partition(|&function| self.cut[function]);
        let mut order = Vec::with_capacity(self.len());
        for component in self.components(&free) {
            assert!(component.len() == 1, "every cycle is cut");
            order.extend(component);
        }
        order.extend(cut);
        order
    }

    fn cut_cycles(&mut self) {
        for function in 0..self.len() {
            self.cut[function] = self.calls[function].contains(&function);
        }
        let free: Vec<usize> = (0..self.len()).filter(|&function| !self.cut[function]).collect();
        let mut cycles: Vec<Vec<usize>> = self.components(&free);
        while let Some(mut cycle) = cycles.pop() {
            if cycle.len() < 2 {
                continue;
            }
            let members: BTreeSet<usize> = cycle.iter().copied().collect();
            let mut calls_in: Vec<usize> = vec![0; self.len()];
            for callee in cycle.iter().flat_map(|&function| self.calls[function].intersection(&members)) {
                calls_in[*callee] += 1;
            }
            let through = |function: usize| calls_in[function] * self.calls[function].intersection(&members).count();
            cycle.sort_by_key(|&function| (std::cmp::Reverse(through(function)), function));
            let chosen = cycle.len().div_ceil(AT_ONCE);
            let rest = cycle.split_off(chosen);
            for function in cycle {
                self.cut[function] = true;
            }
            cycles.extend(self.components(&rest));
        }
    }

    /// Strongly connected components of some functions that are not cut, each after those that it calls: Tarjan,
    /// "Depth-first search and linear graph algorithms", 1972, without recursion.
    fn components(&self, functions: &[usize]) -> Vec<Vec<usize>> {
        const NEW: usize = usize::MAX;
        let mut chosen = vec![false; self.len()];
        for &function in functions {
            chosen[function] = !self.cut[function];
        }
        let mut number = vec![NEW; self.len()];
        let mut low = vec![NEW; self.len()];
        let mut open = vec![false; self.len()];
        let (mut stack, mut components, mut next) = (Vec::new(), Vec::new(), 0);
        for &root in functions {
            if !chosen[root] || number[root] != NEW {
                continue;
            }
            let mut path = vec![(root, self.calls[root].iter())];
            (number[root], low[root], open[root]) = (next, next, true);
            next += 1;
            stack.push(root);
            while let Some((function, callees)) = path.last_mut() {
                let function = *function;
                match callees.next() {
                    Some(&callee) if !chosen[callee] => {}
                    Some(&callee) if number[callee] == NEW => {
                        (number[callee], low[callee], open[callee]) = (next, next, true);
                        next += 1;
                        stack.push(callee);
                        path.push((callee, self.calls[callee].iter()));
                    }
                    Some(&callee) => {
                        if open[callee] {
                            low[function] = low[function].min(number[callee]);
                        }
                    }
                    None => {
                        path.pop();
                        if let Some((caller, _)) = path.last() {
                            low[*caller] = low[*caller].min(low[function]);
                        }
                        if low[function] == number[function] {
                            let start = stack.iter().rposition(|&other| other == function).unwrap_or(0);
                            let component = stack.split_off(start);
                            for &member in &component {
                                open[member] = false;
                            }
                            components.push(component);
                        }
                    }
                }
            }
        }
        components
    }
}
