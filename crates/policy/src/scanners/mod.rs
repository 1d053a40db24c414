//! Scanners of texts, one a file.

pub(crate) mod fragment;
pub(crate) mod injection;
pub(crate) mod patterns;
pub(crate) mod secrets;
pub(crate) mod unicode;
pub(crate) mod urls;

use utoipa::ToSchema;

use proofbox_types::wire_enum;

wire_enum! {
    /// Capability of a program, by the names that it uses.
    #[derive(ToSchema)]
    Capability {
        /// Starts, ends or signals processes.
        Process = "process",
        /// Connections to other machines.
        Network = "network",
        /// Read access to files.
        FileRead = "file_read",
        /// Makes or changes files.
        FileWrite = "file_write",
        /// Reads or changes the environment.
        Environment = "environment",
        /// Runs code that is not in the source as it stands.
        DynamicCode = "dynamic_code",
        /// Looks behind the language: frames, code objects, memory of the interpreter.
        Introspection = "introspection",
        /// Changes what a grader in the same interpreter would rest on.
        GraderTampering = "grader_tampering",
    }
}

wire_enum! {
    /// Scanner that examines a snippet.
    #[derive(ToSchema)]
    Scanner {
        /// Modules that are imported, in whatever way.
        Imports = "imports",
        /// Names of modules and builtins that are used.
        Calls = "calls",
        /// Scanner of what the names in a program let it do.
        Capabilities = "capabilities",
        /// Scanner of keys, tokens and passwords.
        Secrets = "secrets",
        /// Addresses that no honest program names.
        MaliciousUrl = "malicious_url",
        /// Characters that are not seen, or seen as others.
        InvisibleCharacters = "invisible_characters",
        /// Payloads for shells, databases, templates and models.
        Injection = "injection",
        /// The operator's own patterns.
        Regex = "regex",
    }
}
