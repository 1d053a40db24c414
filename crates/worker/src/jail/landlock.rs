//! Landlock: which files may be opened, and that nothing else may be reached.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::LayerError;

/// The newest rights on files that are asked for: Linux 6.10.
const FILES: ABI = ABI::V5;

/// Landlock features by ABI version, with the Linux release that added each. Up to TCP they must be present for the
/// layer to be in force.
const LEARNED: [(ABI, &str); 4] = [
    (ABI::V3, "truncation (Linux 6.2)"),
    (ABI::V4, "TCP (Linux 6.7)"),
    (ABI::V5, "ioctl of devices (Linux 6.10)"),
    (ABI::V6, "signals and abstract sockets (Linux 6.12)"),
];
const NEEDED: ABI = ABI::V4;

/// Paths that every service reads: names of hosts, certificates, time zones, kernel state.
const SYSTEM: [&str; 18] = [
    "/dev/urandom",
    "/etc/gai.conf",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/pki",
    "/etc/resolv.conf",
    "/etc/ssl",
    "/proc",
    "/run/systemd/resolve",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
    "/usr/local/share/ca-certificates",
    "/usr/share/ca-certificates",
    "/usr/share/zoneinfo",
];

/// Paths and network access that the front process keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Files and directories that it reads.
    pub read: Vec<PathBuf>,
    /// Files and directories that it also writes.
    pub write: Vec<PathBuf>,
    /// True when the process connects to other hosts.
    pub connect: bool,
}

/// Denies opening, connecting to and signalling anything at all.
pub(super) fn nothing() -> Result<Option<String>, LayerError> {
    let ruleset = ruleset(AccessNet::from_all(ABI::V4));
    let restricted = ruleset.and_then(RulesetCreated::restrict_self);
    in_force(&restricted.map_err(LayerError::unsupported)?)
}

/// Restricts the process to `needs` and to the paths that it takes to start this program again.
pub(super) fn only(needs: &Needs) -> Result<Option<String>, LayerError> {
    let (files, directories) = programs()?;
    let (read, write) =
        (AccessFs::from_read(FILES) & !AccessFs::Execute, AccessFs::from_all(FILES) & !AccessFs::Execute);
    let net = if needs.connect { AccessNet::BindTcp.into() } else { AccessNet::from_all(ABI::V4) };
    let restricted = ruleset(net).and_then(|ruleset| {
        // Paths that are not there are left out: then they are not needed either.
        ruleset
            .add_rules(path_beneath_rules(SYSTEM, read))?
            .add_rules(path_beneath_rules(["/dev/null"], AccessFs::ReadFile | AccessFs::WriteFile))?
            .add_rules(path_beneath_rules(files.iter().chain(&directories), AccessFs::from_read(FILES)))?
            .add_rules(path_beneath_rules(&needs.read, read))?
            .add_rules(path_beneath_rules(&needs.write, write))?
            .restrict_self()
    });
    in_force(&restricted.map_err(LayerError::unsupported)?)
}

fn ruleset(net: BitFlags<AccessNet>) -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .handle_access(AccessFs::from_all(FILES))?
        .handle_access(net)?
        .scope(Scope::from_all(ABI::V6))?
        .create()
}

/// Returns the files of this program and the directories of its linked libraries, whose files are replaced by updates.
fn programs() -> Result<(BTreeSet<PathBuf>, BTreeSet<PathBuf>), LayerError> {
    let maps = std::fs::read_to_string("/proc/self/maps").map_err(LayerError::system("/proc/self/maps"))?;
    let this = std::fs::read_link("/proc/self/exe").map_err(LayerError::system("/proc/self/exe"))?;
    let executable = maps.lines().filter_map(|line| {
        let (permissions, path) = (line.split(' ').nth(1)?, line.split_once('/')?.1);
        permissions.contains('x').then(|| Path::new("/").join(path))
    });
    let libraries = executable.filter(|path| *path != this).filter_map(|path| Some(path.parent()?.to_owned()));
    Ok((BTreeSet::from([PathBuf::from("/proc/self/exe")]), libraries.collect()))
}

fn in_force(status: &RestrictionStatus) -> Result<Option<String>, LayerError> {
    match status.landlock {
        LandlockStatus::NotImplemented => Err(LayerError::unsupported("the kernel has no Landlock (Linux 5.13)")),
        LandlockStatus::NotEnabled => {
            Err(LayerError::unsupported("Landlock is not enabled in this kernel (lsm=landlock,…)"))
        }
        LandlockStatus::Available { .. } if status.ruleset == RulesetStatus::NotEnforced => {
            Err(LayerError::unsupported("the kernel did not enforce it"))
        }
        LandlockStatus::Available { effective_abi, .. } => {
            let lacks: Vec<&str> =
                LEARNED.iter().filter(|(since, _)| effective_abi < *since).map(|(_, what)| *what).collect();
            let lacks = (!lacks.is_empty()).then(|| format!("without {}", lacks.join(", ")));
            if effective_abi < NEEDED { Err(LayerError::Unsupported(lacks.unwrap_or_default())) } else { Ok(lacks) }
        }
    }
}
