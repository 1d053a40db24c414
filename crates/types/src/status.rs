//! Words for how cases and runs end, the same on the wire, in metrics and in logs.

use crate::wire_enum;

wire_enum! {
    /// `stderr_class`: the closed list of ways in which a run fails.
    FailureClass {
        /// No failure at all.
        None = "none",
        /// The snippet does not parse.
        SyntaxError = "syntax_error",
        /// An assertion did not hold.
        AssertionFailure = "assertion_failure",
        /// Exception without a class of its own; its Python type is given beside it.
        Exception = "exception",
        /// A module that is not in the image.
        MissingDependency = "missing_dependency",
        /// A file that may not be touched.
        PermissionDenied = "permission_denied",
        /// Refused at the boundary.
        UnsafeOperation = "unsafe_operation",
        /// Threads, processes, sockets: what WebAssembly does not have.
        UnsupportedOperation = "unsupported_operation",
        /// CPU time and sleep are used up.
        Timeout = "timeout",
        /// Instructions are used up.
        FuelExhausted = "fuel_exhausted",
        /// More memory than allowed.
        MemoryLimit = "memory_limit",
        /// Far more output than is kept.
        OutputLimit = "output_limit",
        /// Recursion that exceeded the stack.
        RecursionLimit = "recursion_limit",
        /// The policy refused the snippet.
        PolicyBlocked = "policy_blocked",
        /// The result could not leave the sandbox.
        SerializationError = "serialization_error",
        /// Exit of the program with a code other than 0.
        NonzeroExit = "nonzero_exit",
        /// We failed; retry. Never graded.
        InfrastructureError = "infrastructure_error",
        /// The model's answer has no code: nothing was run.
        NoCode = "no_code",
        /// The model's answer has code, but none in Python: nothing was run.
        OtherLanguage = "other_language",
    }
}

impl FailureClass {
    /// Returns whether only the host can say so: a guest that reports such a class lies.
    pub fn is_hosts(self) -> bool {
        matches!(
            self,
            Self::None | Self::InfrastructureError | Self::PolicyBlocked | Self::NoCode | Self::OtherLanguage
        )
    }
}

wire_enum! {
    /// Status of a case. Only `passed` counts as passed.
    CaseStatus {
        /// Success of the case.
        Passed = "passed",
        /// An assertion did not hold.
        Failed = "failed",
        /// Failure other than a failed assertion.
        Error = "error",
        /// The test skipped itself.
        Skipped = "skipped",
        /// Case that was never started.
        NotRun = "not_run",
    }
}

wire_enum! {
    /// Status of a submission.
    Status {
        /// Every planned case passed.
        Passed = "passed",
        /// At least one planned case did not pass.
        Failed = "failed",
        /// Without tests: it ran to its end.
        Ok = "ok",
        /// Without tests: it did not.
        Error = "error",
        /// The policy refused it; nothing was run.
        Blocked = "blocked",
        /// Failure of the service itself.
        InfrastructureError = "infrastructure_error",
    }
}

wire_enum! {
    /// Degree to which the verdict can be trusted.
    IntegrityLevel {
        /// Expected values and verdict were never where the candidate runs.
        Isolated = "isolated",
        /// Tests ran in the candidate's own interpreter: it could have forged them.
        InProcess = "in_process",
        /// No tests, so nothing was graded.
        None = "none",
    }
}
