//! The software bill of materials: CycloneDX 1.6 (<https://cyclonedx.org/docs/1.6/json/>), from what cargo and the image's
//! manifest say.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::image::{Manifest, Source};

/// The packages of Cargo.lock.
pub(crate) struct Workspace {
    pub packages: Vec<Package>,
    /// Directory of the checkout.
    pub root: PathBuf,
    /// Directory of cargo's results.
    pub target: PathBuf,
    /// Identifiers of the packages that each needs.
    needs: BTreeMap<String, Vec<String>>,
}

/// A package of Cargo.lock.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    id: String,
    pub name: String,
    pub version: String,
    pub license: Option<String>,
    pub description: Option<String>,
    /// Registry of the package; none for those of the checkout.
    pub source: Option<String>,
    pub manifest_path: PathBuf,
    /// True if the service is made with it on this platform.
    #[serde(skip)]
    pub is_used: bool,
    #[serde(skip)]
    checksum: Option<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
    workspace_root: PathBuf,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<LockedPackage>,
}

#[derive(Deserialize)]
struct LockedPackage {
    name: String,
    version: String,
    checksum: Option<String>,
}

fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.stdin(Stdio::null());
    command
}

/// Builds the service, unless it is built.
pub(crate) fn build_service() -> anyhow::Result<()> {
    let status =
        cargo().args(["build", "--release", "--locked", "--package", "proofbox", "--bin", "proofbox"]).status();
    ensure!(status.context("starting cargo")?.success(), "the service can't be built");
    Ok(())
}

/// Asks cargo for the packages, on all platforms or on one.
fn read_metadata(platform: Option<&str>) -> anyhow::Result<Metadata> {
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1", "--locked"]);
    command.args(platform.map(|platform| ["--filter-platform", platform]).into_iter().flatten());
    let output = command.stderr(Stdio::inherit()).output().context("starting cargo")?;
    ensure!(output.status.success(), "cargo metadata failed");
    Ok(serde_json::from_slice(&output.stdout)?)
}

impl Workspace {
    /// Reads the packages of this checkout, and which of them the service is made with on `platform`.
    pub(crate) fn read(platform: &str) -> anyhow::Result<Self> {
        let Metadata { mut packages, resolve, workspace_root: root, target_directory: target } = read_metadata(None)?;
        let lock = std::fs::read_to_string(root.join("Cargo.lock")).context("reading Cargo.lock")?;
        let lock: Lock = toml::from_str(&lock).context("Cargo.lock")?;
        let checksums: BTreeMap<_, _> =
            lock.package.into_iter().map(|package| ((package.name, package.version), package.checksum)).collect();
        let is_service = |package: &&Package| package.name == "proofbox" && package.source.is_none();
        let service = packages.iter().find(is_service).context("there is no package proofbox")?.id.clone();
        let used = reach(&service, &needs(read_metadata(Some(platform))?.resolve));
        for package in &mut packages {
            let key = (package.name.clone(), package.version.clone());
            package.checksum = checksums.get(&key).cloned().flatten();
            package.is_used = used.contains(&package.id);
        }
        packages.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(Self { packages, root, target, needs: needs(resolve) })
    }

    /// Returns the package of the service.
    pub(crate) fn service(&self) -> anyhow::Result<&Package> {
        let is_service = |package: &&Package| package.name == "proofbox" && package.source.is_none();
        self.packages.iter().find(is_service).context("there is no package proofbox")
    }
}

/// Returns what each package needs when it is built or run; tests have further needs.
fn needs(resolve: Resolve) -> BTreeMap<String, Vec<String>> {
    let is_needed =
        |dependency: &Dependency| dependency.dep_kinds.iter().any(|kind| kind.kind.as_deref() != Some("dev"));
    let needs = |node: Node| {
        let needed = node.deps.into_iter().filter(is_needed);
        (node.id, needed.map(|dependency| dependency.pkg).collect())
    };
    resolve.nodes.into_iter().map(needs).collect()
}

/// Returns the packages that `from` needs directly and indirectly, with itself.
fn reach(from: &str, needs: &BTreeMap<String, Vec<String>>) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from.to_owned()];
    while let Some(id) = open.pop() {
        if reached.insert(id.clone()) {
            open.extend(needs.get(&id).into_iter().flatten().cloned());
        }
    }
    reached
}

impl Package {
    /// Returns the licence as the package names it.
    pub(crate) fn licence(&self) -> &str {
        self.license.as_deref().unwrap_or("not named")
    }

    fn reference(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version)
    }

    fn component(&self) -> Value {
        let mut component = json!({
            "type": "library",
            "bom-ref": self.reference(),
            "name": self.name,
            "version": self.version,
            "scope": if self.is_used { "required" } else { "excluded" },
        });
        if let Some(description) = &self.description {
            component["description"] = description.split_whitespace().collect::<Vec<_>>().join(" ").into();
        }
        if let Some(license) = &self.license {
            // As registries had it once: MIT/Apache-2.0.
            component["licenses"] = json!([{"expression": license.replace('/', " OR ")}]);
        }
        if let Some(checksum) = &self.checksum {
            component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
        }
        // Packages of the checkout are in no registry.
        if self.source.is_some() {
            component["purl"] = self.reference().into();
        }
        component
    }
}

/// Returns a name as package indexes compare it: <https://packaging.python.org/en/latest/specifications/name-normalization/>.
fn normalize(name: &str) -> String {
    let parts: Vec<&str> = name.split(['-', '_', '.']).filter(|part| !part.is_empty()).collect();
    parts.join("-").to_lowercase()
}

fn licence(text: &str) -> Value {
    // An expression of SPDX, or prose.
    let is_expression = !text.contains([';', ',', ':']);
    if is_expression { json!([{"expression": text}]) } else { json!([{"license": {"name": text}}]) }
}

/// Returns what the image is made of: its packages as its manifest names them, and the other sources of the recipe.
fn image_components(manifest: &Manifest, sources: &[Source]) -> Vec<Value> {
    let mut pins: BTreeMap<String, &Source> = sources.iter().map(|source| (normalize(&source.name), source)).collect();
    let archive = |source: &Source| {
        json!([{
            "type": "distribution",
            "url": source.archive,
            "hashes": [{"alg": "SHA-256", "content": source.sha256}],
        }])
    };
    let mut components = Vec::new();
    for (name, version) in &manifest.packages {
        let purl = format!("pkg:pypi/{}@{version}", normalize(name));
        let mut component = json!({
            "type": "library", "bom-ref": purl, "name": name, "version": version, "scope": "required", "purl": purl,
        });
        if let Some(source) = pins.remove(&normalize(name)) {
            component["licenses"] = licence(&source.licence);
            component["externalReferences"] = archive(source);
        }
        components.push(component);
    }
    for source in pins.into_values() {
        components.push(json!({
            "type": "library",
            "bom-ref": format!("source:{}@{}", source.name, source.version),
            "name": source.name,
            "version": source.version,
            "licenses": licence(&source.licence),
            "externalReferences": archive(source),
            "properties": [{"name": "proofbox:role", "value": "source or tool of the image's build"}],
        }));
    }
    components
}

/// Returns the bill of materials as JSON.
pub(crate) fn write_sbom(workspace: &Workspace, manifest: &Manifest, sources: &[Source]) -> anyhow::Result<String> {
    let service = workspace.service()?;
    let image = format!("image.wasm@{}", manifest.image_hash);
    let mut components: Vec<Value> =
        workspace.packages.iter().filter(|package| package.id != service.id).map(Package::component).collect();
    components.push(json!({
        "type": "application",
        "bom-ref": image,
        "name": "image.wasm",
        "version": manifest.image_hash,
        "description": format!("CPython {} with packages, as WebAssembly", manifest.python),
        "hashes": [{"alg": "SHA-256", "content": manifest.image_hash.trim_start_matches("sha256:")}],
        "components": image_components(manifest, sources),
    }));

    let references: BTreeMap<&str, String> =
        workspace.packages.iter().map(|package| (package.id.as_str(), package.reference())).collect();
    let mut dependencies = Vec::new();
    for package in &workspace.packages {
        let needed = workspace.needs.get(&package.id).into_iter().flatten();
        let mut needed: BTreeSet<&str> =
            needed.filter_map(|id| references.get(id.as_str()).map(String::as_str)).collect();
        if package.id == service.id {
            needed.insert(&image);
        }
        dependencies.push(json!({"ref": package.reference(), "dependsOn": needed}));
    }

    let mut main = service.component();
    main["type"] = "application".into();
    let bill = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "tools": {"components": [{"type": "application", "name": "cargo xtask dist", "version": service.version}]},
            "component": main,
        },
        "components": components,
        "dependencies": dependencies,
    });
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}

/// Returns the size of the file at `path`, for people.
pub(crate) fn megabytes(path: &Path) -> anyhow::Result<String> {
    Ok(format!("{:.1} MB", std::fs::metadata(path)?.len() as f64 / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_as_indexes_do() {
        assert_eq!(["Flask-Login", "et_xmlfile", "a.-_b"].map(normalize), ["flask-login", "et-xmlfile", "a-b"]);
    }

    #[test]
    fn licences_are_expressions_or_prose() {
        assert_eq!(licence("MPL-2.0 AND MIT"), json!([{"expression": "MPL-2.0 AND MIT"}]));
        assert_eq!(licence("MIT; in it: Zlib"), json!([{"license": {"name": "MIT; in it: Zlib"}}]));
    }

    #[test]
    fn what_is_needed_by_what_is_needed_is_reached() {
        let needs = [("a", vec!["b"]), ("b", vec!["c", "a"]), ("d", vec!["a"])];
        let needs = needs.map(|(id, needed)| (id.to_owned(), needed.into_iter().map(str::to_owned).collect()));
        let reached = reach("a", &BTreeMap::from(needs));
        assert_eq!(reached.into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
    }
}
