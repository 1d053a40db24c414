//! Random calls against a naive model of files, which must agree at every step.

use super::test_guest::{Guest, Random, USER, audit};
use super::test_saved::reloaded;
use super::{Base, Descriptors, Errno, FilesQuota, fork_sandbox, lock};
use std::collections::{BTreeMap, BTreeSet};

const QUOTA: FilesQuota = FilesQuota { bytes: 3000, count: 14 };

#[derive(Debug, Clone, Copy, PartialEq)]
enum Node {
    Directory,
    File(usize),
}

#[derive(Debug, Clone)]
struct Handle {
    fd: u32,
    file: usize,
    position: usize,
    mode: &'static str,
}

/// Files as plainly as they can be written down.
#[derive(Debug, Default)]
struct Model {
    names: BTreeMap<String, Node>,
    files: Vec<Vec<u8>>,
    handles: Vec<Handle>,
}

impl Model {
    fn directory_above(&self, path: &str) -> Result<(), Errno> {
        let (above, _) = path.rsplit_once('/').expect("below tmp");
        match self.names.get(above) {
            _ if above == "tmp" => Ok(()),
            Some(Node::Directory) => Ok(()),
            Some(Node::File(_)) => Err(Errno::NotDir),
            None => {
                self.directory_above(above)?;
                Err(Errno::NoEnt)
            }
        }
    }

    fn is_empty(&self, directory: &str) -> bool {
        let prefix = format!("{directory}/");
        !self.names.keys().any(|name| name.starts_with(&prefix))
    }

    fn live(&self) -> BTreeSet<usize> {
        let named = self.names.values().filter_map(|node| match node {
            Node::File(file) => Some(*file),
            Node::Directory => None,
        });
        named.chain(self.handles.iter().map(|handle| handle.file)).collect()
    }

    fn usage(&self) -> (u64, u64) {
        let live = self.live();
        let named: BTreeSet<usize> = self
            .names
            .values()
            .filter_map(|node| match node {
                Node::File(file) => Some(*file),
                Node::Directory => None,
            })
            .collect();
        let bytes: usize = live.iter().map(|file| self.files[*file].len()).sum();
        let removed_but_open = live.difference(&named).count();
        (bytes as u64, (self.names.len() + removed_but_open) as u64)
    }

    fn entry_left(&self) -> Result<(), Errno> {
        match self.usage().1 < QUOTA.count {
            true => Ok(()),
            false => Err(Errno::DQuot),
        }
    }

    fn mkdir(&mut self, path: &str) -> Result<(), Errno> {
        self.directory_above(path)?;
        if self.names.contains_key(path) {
            return Err(Errno::Exist);
        }
        self.entry_left()?;
        self.names.insert(path.to_owned(), Node::Directory);
        Ok(())
    }

    fn open(&mut self, path: &str, mode: &'static str) -> Result<usize, Errno> {
        self.directory_above(path)?;
        match self.names.get(path) {
            Some(_) if mode == "x" => Err(Errno::Exist),
            Some(Node::Directory) if mode == "r" => Err(Errno::TooBig),
            Some(Node::Directory) => Err(Errno::IsDir),
            Some(Node::File(file)) => {
                if mode.starts_with('w') {
                    self.files[*file].clear();
                }
                Ok(*file)
            }
            None if mode.starts_with('r') => Err(Errno::NoEnt),
            None => {
                self.entry_left()?;
                self.files.push(Vec::new());
                let file = self.files.len() - 1;
                self.names.insert(path.to_owned(), Node::File(file));
                Ok(file)
            }
        }
    }

    fn unlink(&mut self, path: &str) -> Result<(), Errno> {
        self.directory_above(path)?;
        match self.names.get(path) {
            None => Err(Errno::NoEnt),
            Some(Node::Directory) => Err(Errno::IsDir),
            Some(Node::File(_)) => {
                self.names.remove(path);
                Ok(())
            }
        }
    }

    fn rmdir(&mut self, path: &str) -> Result<(), Errno> {
        self.directory_above(path)?;
        match self.names.get(path) {
            None => Err(Errno::NoEnt),
            Some(Node::File(_)) => Err(Errno::NotDir),
            Some(Node::Directory) if !self.is_empty(path) => Err(Errno::NotEmpty),
            Some(Node::Directory) => {
                self.names.remove(path);
                Ok(())
            }
        }
    }

    fn link(&mut self, old: &str, new: &str) -> Result<(), Errno> {
        self.directory_above(old)?;
        let node = *self.names.get(old).ok_or(Errno::NoEnt)?;
        self.directory_above(new)?;
        if self.names.contains_key(new) {
            return Err(Errno::Exist);
        }
        if node == Node::Directory {
            return Err(Errno::Perm);
        }
        self.entry_left()?;
        self.names.insert(new.to_owned(), node);
        Ok(())
    }

    fn rename(&mut self, old: &str, new: &str) -> Result<(), Errno> {
        self.directory_above(old)?;
        let node = *self.names.get(old).ok_or(Errno::NoEnt)?;
        self.directory_above(new)?;
        let replaced = self.names.get(new).copied();
        if old == new || matches!(node, Node::File(_)) && replaced == Some(node) {
            return Ok(());
        }
        match (node, replaced) {
            (Node::Directory, Some(Node::File(_))) => return Err(Errno::NotDir),
            (Node::File(_), Some(Node::Directory)) => return Err(Errno::IsDir),
            (Node::Directory, Some(Node::Directory)) if !self.is_empty(new) => {
                return Err(Errno::NotEmpty);
            }
            (Node::Directory, _) if new.starts_with(&format!("{old}/")) => {
                return Err(Errno::Inval);
            }
            (Node::Directory | Node::File(_), _) => {}
        }
        self.names.remove(new);
        let prefix = format!("{old}/");
        let moved: Vec<String> =
            self.names.keys().filter(|name| *name == old || name.starts_with(&prefix)).cloned().collect();
        for name in moved {
            let node = self.names.remove(&name).expect("just listed");
            self.names.insert(format!("{new}{}", &name[old.len()..]), node);
        }
        Ok(())
    }

    fn write(&mut self, handle: usize, at: Option<usize>, bytes: &[u8]) -> Result<u32, Errno> {
        let left = (QUOTA.bytes - self.usage().0) as usize;
        let handle = &mut self.handles[handle];
        if handle.mode == "r" {
            return Err(Errno::BadF);
        }
        let file = &mut self.files[handle.file];
        let start = match at {
            Some(offset) => offset,
            None if handle.mode == "a" => file.len(),
            None => handle.position,
        };
        let fits = (file.len() + left).saturating_sub(start).min(bytes.len());
        if fits == 0 && !bytes.is_empty() {
            return Err(Errno::NoSpc);
        }
        if fits > 0 {
            let end = start + fits;
            file.resize(file.len().max(end), 0);
            file[start..end].copy_from_slice(&bytes[..fits]);
        }
        if at.is_none() {
            handle.position = start + fits;
        }
        Ok(fits as u32)
    }

    fn read(&mut self, handle: usize, length: usize) -> Result<Vec<u8>, Errno> {
        let handle = &mut self.handles[handle];
        if !matches!(handle.mode, "r" | "r+" | "w+") {
            return Err(Errno::BadF);
        }
        let file = &self.files[handle.file];
        let start = handle.position.min(file.len());
        let bytes = file[start..file.len().min(start + length)].to_vec();
        handle.position += bytes.len();
        Ok(bytes)
    }

    fn truncate(&mut self, handle: usize, size: usize) -> Result<(), Errno> {
        let left = (QUOTA.bytes - self.usage().0) as usize;
        let handle = &self.handles[handle];
        if handle.mode == "r" {
            return Err(Errno::Inval);
        }
        let file = &mut self.files[handle.file];
        if size > file.len() + left {
            return Err(Errno::NoSpc);
        }
        file.resize(size, 0);
        Ok(())
    }
}

fn random_path(random: &mut Random) -> String {
    let mut path = "tmp".to_owned();
    for _ in 0..=random.below(3) {
        path.push('/');
        path.push_str(random.of(&["a", "b", "c"]));
    }
    path
}

/// Does one random thing to both, and compares the outcomes.
fn step(random: &mut Random, model: &mut Model, guest: &mut Guest) {
    let (path, other) = (random_path(random), random_path(random));
    let handle = match model.handles.len() as u64 {
        0 => None,
        count => Some(random.below(count) as usize),
    };
    let mut bytes = vec![0; random.below(400) as usize];
    bytes.fill_with(|| random.next() as u8);
    match (random.below(16), handle) {
        (0 | 1, _) => assert_eq!(guest.mkdir(&path), model.mkdir(&path)),
        (2, _) => assert_eq!(guest.unlink(&path), model.unlink(&path)),
        (3, _) => assert_eq!(guest.rmdir(&path), model.rmdir(&path)),
        (4 | 5, _) => assert_eq!(guest.rename(&path, &other), model.rename(&path, &other)),
        (6, _) => assert_eq!(guest.link(&path, &other), model.link(&path, &other)),
        (7 | 8, _) if model.handles.len() < 6 => {
            let mode = random.of(&["r", "r+", "w", "w+", "a", "x"]);
            let expected = model.open(&path, mode);
            match (guest.open(&path, mode), expected) {
                (Ok(fd), Ok(file)) => model.handles.push(Handle {
                    fd,
                    file,
                    position: 0,
                    mode: if mode == "w" || mode == "x" { "w" } else { mode },
                }),
                // A directory opened for reading is a directory descriptor; not modelled further.
                (Ok(fd), Err(Errno::TooBig)) => guest.close(fd).expect("just opened"),
                (opened, expected) => assert_eq!(opened.map(|_| ()), expected.map(|_| ())),
            }
        }
        (9 | 10, Some(handle)) => {
            let fd = model.handles[handle].fd;
            assert_eq!(guest.write(fd, &bytes), model.write(handle, None, &bytes));
        }
        (11, Some(handle)) => {
            let (fd, offset) = (model.handles[handle].fd, random.below(3500));
            let written = model.write(handle, Some(offset as usize), &bytes);
            assert_eq!(guest.pwrite(fd, &bytes, offset), written);
        }
        (12, Some(handle)) => {
            let (fd, length) = (model.handles[handle].fd, random.below(500) as usize);
            assert_eq!(guest.read(fd, length), model.read(handle, length));
        }
        (13, Some(handle)) => {
            let (fd, size) = (model.handles[handle].fd, random.below(3500));
            assert_eq!(guest.truncate(fd, size), model.truncate(handle, size as usize));
        }
        (14, Some(handle)) => {
            let position = random.below(3500) as usize;
            let fd = model.handles[handle].fd;
            assert_eq!(guest.seek(fd, position as i64, 0), Ok(position as u64));
            model.handles[handle].position = position;
        }
        (15, Some(handle)) => {
            let closed = model.handles.remove(handle);
            assert_eq!(guest.close(closed.fd), Ok(()));
        }
        (7..=15, _) => {}
        (16.., _) => unreachable!("below sixteen"),
    }
    assert_eq!(guest.usage(), model.usage());
}

/// Compares all there is.
fn compare(model: &Model, guest: &mut Guest) {
    for (path, node) in &model.names {
        let stat = guest.stat(path).expect("in the model");
        match node {
            Node::Directory => assert_eq!(stat.file_type, 3),
            Node::File(file) => {
                let content = lock(guest.descriptors.tree()).read_file(&format!("/{path}"));
                assert_eq!(content.as_deref(), Ok(&model.files[*file][..]));
                let names = model.names.values().filter(|other| *other == node).count();
                assert_eq!(stat.links, names as u64);
            }
        }
    }
    let found = lock(guest.descriptors.tree()).list("/tmp", 9).expect("a directory");
    let found: Vec<&str> = found.iter().map(|entry| &entry.path[1..]).collect();
    assert_eq!(found, model.names.keys().collect::<Vec<_>>());
    for handle in &model.handles {
        let size = guest.fstat(handle.fd).map(|stat| stat.size);
        assert_eq!(size, Ok(model.files[handle.file].len() as u64));
    }
    audit(guest);
}

#[test]
fn the_tree_does_what_a_naive_model_does() {
    for seed in 1..=40 {
        let mut random = Random::seeded(seed);
        let mut model = Model::default();
        let mut guest = Guest::with_quota(QUOTA);
        for number in 0..1500 {
            step(&mut random, &mut model, &mut guest);
            if number % 50 == 0 {
                compare(&model, &mut guest);
            }
            if number % 170 == 0 {
                guest = continue_in_fork(&mut random, guest);
            }
            if number % 90 == 0 {
                guest = reloaded(&guest, &Base::bare());
            }
        }
        compare(&model, &mut guest);
    }
}

/// Forks the sandbox, spoils the original, and goes on with the copy.
fn continue_in_fork(random: &mut Random, mut original: Guest) -> Guest {
    let (_, mut copies) = fork_sandbox(&original.tree(), &[&original.descriptors]);
    for _ in 0..20 {
        let path = random_path(random);
        let spoilt = match original.open(&path, "w") {
            Ok(fd) => original.write(fd, b"spoilt").map(|_| ()),
            Err(_) => original.unlink(&path),
        };
        // Whether it worked does not matter: the copy must not notice.
        spoilt.unwrap_or_default();
    }
    for fd in 4..12 {
        original.truncate(fd, 1).unwrap_or_default();
    }
    Guest::with_descriptors(copies.remove(0))
}

#[test]
fn interpreters_on_several_threads_keep_the_books() {
    let first = Guest::with_quota(QUOTA);
    let tree = first.tree();
    let run = |seed: u64| {
        let mut random = Random::seeded(seed);
        let mut guest = Guest::with_descriptors(Descriptors::new(&first.tree(), USER));
        for _ in 0..3000 {
            let (path, other) = (random_path(&mut random), random_path(&mut random));
            let outcome = match random.below(6) {
                0 => guest.open(&path, "w+").and_then(|fd| guest.write(fd, b"some bytes").map(|_| ())),
                1 => guest.unlink(&path),
                2 => guest.mkdir(&path).or_else(|_| guest.rmdir(&path)),
                3 => guest.rename(&path, &other),
                4 => guest.link(&path, &other),
                _ => guest.close(4 + random.below(8) as u32),
            };
            // Which of them fail depends on the threads; what must hold is what is counted.
            outcome.unwrap_or_default();
        }
    };
    std::thread::scope(|scope| {
        for seed in 1..=4 {
            scope.spawn(move || run(seed));
        }
    });
    audit(&first);
    lock(&tree).list("/tmp", 9).expect("a directory");
}
