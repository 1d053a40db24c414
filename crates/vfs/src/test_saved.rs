//! Sandboxes that are saved and loaded: they go on as before, and whatever is damaged makes no sandbox.

use super::descriptors::What;
use super::inodes::NodeId;
use super::saved::{Page, SavedEntry, SavedKind, SavedOpen};
use super::test_guest::{Guest, QUOTA, Random, USER, audit};
use super::test_nonsense::{fill_with_small_numbers, odd_call};
use super::{
    Base, Credentials, DamagedFiles, Descriptors, Errno, Fault, FileKind, FilesError, FilesQuota, FilesUsage, Layer,
    SandboxFiles, View, fork_sandbox, lock, save_sandbox,
};
use bytes::Bytes;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

fn base() -> Base {
    let files = [("m.py", Bytes::from_static(b"x = 1")), ("d/n.py", Bytes::from_static(b"y"))];
    let layer = Layer::new(files, 7).expect("paths agree");
    Base::with_layers([("/usr/lib".to_owned(), layer)]).expect("free")
}

fn bytes_of(guest: &Guest) -> Vec<u8> {
    let files = save_sandbox(&guest.tree(), &[&guest.descriptors]);
    postcard::to_stdvec(&files).expect("plain data")
}

fn load(bytes: &[u8], base: &Base) -> Result<Guest, String> {
    let files: SandboxFiles = postcard::from_bytes(bytes).map_err(|error| error.to_string())?;
    let (_, mut tables) = files.load(base).map_err(|error| error.to_string())?;
    Ok(Guest::with_descriptors(tables.remove(0)))
}

/// The guest's sandbox in another process.
pub(super) fn reloaded(guest: &Guest, base: &Base) -> Guest {
    let mut loaded = load(&bytes_of(guest), base).expect("it was just saved");
    assert_eq!(loaded.usage(), guest.usage());
    audit(&loaded);
    check_links(&loaded);
    loaded.memory.clone_from(&guest.memory);
    loaded.now = guest.now;
    loaded
}

/// Recounts what leads where from the directories themselves.
fn check_links(guest: &Guest) {
    let tree = lock(guest.descriptors.tree());
    let mut names: BTreeMap<u32, u32> = BTreeMap::from([(0, 1)]);
    for (index, directory) in (0..tree.inodes.len() as u32).filter_map(|i| Some((i, tree.inodes.directory(i)?))) {
        let mut below = 0;
        for (_, name, node_id) in directory.entries() {
            below += u32::from(tree.is_directory(node_id));
            if let NodeId::Own(to) = node_id {
                *names.entry(to).or_insert(0) += 1;
                if let Some(to) = tree.inodes.directory(to) {
                    assert_eq!((to.parent, &to.name), (index, &name));
                }
            }
        }
        assert_eq!(directory.subdirectories, below);
    }
    for (index, inode) in (0..tree.inodes.len() as u32).filter_map(|i| Some((i, tree.inodes.get(i)?))) {
        assert_eq!(inode.names, names.get(&index).copied().unwrap_or(0), "{index}");
    }
}

#[test]
fn a_loaded_sandbox_goes_on_with_all_that_was_open() {
    let base = base();
    let mut guest = Guest::on(&base, QUOTA);
    let log = guest.open("tmp/log", "a").expect("created");
    guest.write(log, b"one\n").expect("room");
    let removed = guest.open("tmp/removed", "w+").expect("created");
    guest.write(removed, b"still here").expect("room");
    guest.seek(removed, 6, 0).expect("a file");
    guest.unlink("tmp/removed").expect("there");
    guest.mkdir("tmp/gone").expect("free");
    let gone = guest.open("tmp/gone", "d").expect("there");
    guest.rmdir("tmp/gone").expect("empty");
    guest.link("tmp/log", "home/user/log").expect("free");
    guest.symlink("tmp/log", "link").expect("free");
    let module = guest.open("usr/lib/m.py", "r").expect("in the layer");
    guest.read(module, 4).expect("a file");
    let null = guest.open("dev/null", "w").expect("a device");
    guest.open("tmp/out", "w").expect("created");
    guest.descriptors.fd_renumber(9, 1).expect("both open");
    guest.utime("tmp/log", (5, 6), 0b0101).expect("there");
    let before = (guest.stat("tmp/log"), guest.stat("tmp"), guest.fstat(removed), guest.fstat(gone));

    let mut loaded = reloaded(&guest, &base);
    assert_eq!((loaded.stat("tmp/log"), loaded.stat("tmp"), loaded.fstat(removed), loaded.fstat(gone)), before);
    loaded.write(log, b"two\n").expect("room");
    loaded.write(1, b"printed").expect("a file now");
    loaded.write(null, b"lost").expect("a device");
    assert_eq!(loaded.read(removed, 9), Ok(b"here".to_vec()));
    assert_eq!(loaded.read(module, 9), Ok(b"1".to_vec()));
    assert_eq!(loaded.list(gone, 100).map(|entries| entries.len()), Ok(2));
    let reader = loaded.open("link", "r").expect("leads to the log");
    assert_eq!(loaded.read(reader, 99), Ok(b"one\ntwo\n".to_vec()));
    assert_eq!(loaded.stat("tmp/out").map(|stat| stat.size), Ok(7));
    assert_eq!(guest.stat("tmp/log").map(|stat| stat.size), Ok(4));
    for fd in 4..10 {
        // Some are closed already.
        loaded.close(fd).unwrap_or_default();
    }
    assert_eq!(loaded.usage().1, guest.usage().1 - 2);
}

#[test]
fn reading_a_directory_goes_on_where_it_was() {
    let base = Base::bare();
    let mut guest = Guest::with_quota(QUOTA);
    for name in ["c", "a", "d", "b"] {
        guest.open(&format!("tmp/{name}"), "w").expect("created");
    }
    guest.unlink("tmp/a").expect("there");
    let fd = guest.open("tmp", "d").expect("a directory");
    let all = guest.list(fd, 4096).expect("a directory");
    let mut loaded = reloaded(&guest, &base);
    assert_eq!(loaded.list(fd, 4096).as_ref(), Ok(&all));
    loaded.open("tmp/a", "w").expect("created");
    let rest = loaded.readdir(fd, 4096, all[2].next).expect("a directory");
    let rest: Vec<String> = super::test_guest::parse_dirents(&rest).into_iter().map(|entry| entry.name).collect();
    assert_eq!(rest, ["d", "b", "a"]);
    let number = |guest: &mut Guest| guest.stat("tmp/a").map(|stat| stat.number);
    guest.open("tmp/a", "w").expect("created");
    assert_eq!(number(&mut loaded), number(&mut guest));
}

#[test]
fn named_pipes_are_kept_and_have_no_content() {
    let base = Base::bare();
    let guest = Guest::with_quota(QUOTA);
    lock(&guest.tree()).make_named_pipe("/tmp/p", 0).expect("free");
    for mut guest in [reloaded(&guest, &base), guest] {
        for how in ["r", "w", "r+", "a"] {
            assert_eq!(guest.open("tmp/p", how), Err(Errno::NotSup));
        }
        assert_eq!((guest.open("tmp/p", "x"), guest.open("tmp/p", "d")), (Err(Errno::Exist), Err(Errno::NotDir)));
        let tree = guest.tree();
        let refuses = |refused: Result<(), FilesError>| {
            assert!(matches!(refused, Err(FilesError::Refused { fault: Fault::NamedPipe, .. })), "{refused:?}");
        };
        assert_eq!(lock(&tree).stat("/tmp/p").map(|entry| (entry.kind, entry.size)), Ok((FileKind::NamedPipe, 0)));
        refuses(lock(&tree).read_range("/tmp/p", 0, 9).map(drop));
        refuses(lock(&tree).read_file("/tmp/p").map(drop));
        refuses(lock(&tree).write_file("/tmp/p", b"x", 0));
        assert_eq!(lock(&tree).glob(&["/tmp/*"], 99).map(|found| found.len()), Ok(0));
        assert_eq!(lock(&tree).export("/tmp", 99, 99).map(|found| found.len()), Ok(0));
        let forked = lock(&tree).fork();
        assert_eq!(forked.stat("/tmp/p").map(|entry| entry.kind), Ok(FileKind::NamedPipe));
        guest.unlink("tmp/p").expect("there");
        assert_eq!(guest.usage(), (0, 0));
    }
}

#[test]
fn each_interpreter_gets_its_own_descriptors_and_view_again() {
    let base = Base::bare();
    let mut one = Guest::new();
    let mut two = Guest::with_descriptors(Descriptors::new(&one.tree().with_view(View::WithoutTests), USER));
    one.mkdir("tests").expect("free");
    let first = one.open("tmp/f", "w").expect("created");
    let second = two.open("tmp/f", "r").expect("there");
    one.write(first, b"shared").expect("room");
    one.unlink("tmp/f").expect("there");
    let files = save_sandbox(&one.tree(), &[&one.descriptors, &two.descriptors]);
    assert_eq!(files.quota(), QUOTA);
    let (tree, tables) = files.load(&base).expect("just saved");
    let mut loaded = tables.into_iter().map(Guest::with_descriptors);
    let (mut one, mut two) = (loaded.next().expect("two"), loaded.next().expect("two"));
    assert!(one.stat("tests").is_ok() && two.stat("tests") == Err(Errno::NoEnt));
    assert_eq!(two.read(second, 9), Ok(b"shared".to_vec()));
    one.close(first).expect("open");
    assert_eq!(lock(&tree).usage().bytes, 6);
    drop(two);
    assert_eq!(lock(&tree).usage().bytes, 0);
}

#[test]
fn without_their_descriptors_removed_files_are_left_behind() {
    let mut guest = Guest::new();
    let fd = guest.open("tmp/removed", "w").expect("created");
    guest.write(fd, b"before").expect("room");
    guest.unlink("tmp/removed").expect("there");
    let (tree, tables) = save_sandbox(&guest.tree(), &[]).load(&Base::bare()).expect("just saved");
    assert_eq!((lock(&tree).usage().bytes, tables.len()), (0, 0));
}

#[test]
fn holes_stay_holes_and_pages_are_not_copied_to_be_saved() {
    let mut guest = Guest::with_quota(FilesQuota { bytes: 1 << 36, count: 9 });
    let fd = guest.open("tmp/sparse", "w+").expect("created");
    guest.pwrite(fd, b"end", 1 << 35).expect("room");
    guest.pwrite(fd, b"start", 0).expect("room");
    let bytes = bytes_of(&guest);
    assert!(bytes.len() < 1000, "{}", bytes.len());
    let mut loaded = reloaded(&guest, &Base::bare());
    assert_eq!(loaded.pread(fd, 9, 1 << 35), Ok(b"end".to_vec()));
    assert_eq!(loaded.pread(fd, 9, 0), Ok(b"start\0\0\0\0".to_vec()));
    let saved = save_sandbox(&guest.tree(), &[&guest.descriptors]);
    guest.pwrite(fd, b"other", 0).expect("room");
    let (tree, _) = saved.load(&Base::bare()).expect("just saved");
    assert_eq!(lock(&tree).read_range("/tmp/sparse", 0, 5).as_deref(), Ok(&b"start"[..]));
}

#[test]
fn files_saved_over_other_layers_are_refused() {
    let guest = Guest::on(&base(), QUOTA);
    let refused = save_sandbox(&guest.tree(), &[]).load(&Base::bare()).map(|_| ());
    assert_eq!(refused, Err(DamagedFiles::OtherLayers { saved: 1, here: 0 }));
}

/// A sandbox with something of every kind in it.
fn rich(random: &mut Random, base: &Base) -> Guest {
    let mut guest = Guest::on(base, FilesQuota { bytes: 3000, count: 30 });
    fill_with_small_numbers(random, &mut guest);
    guest.mkdir("tmp/d").expect("free");
    guest.mkdir("tmp/d/e").expect("free");
    guest.symlink("d/e", "tmp/l").expect("free");
    for (name, mode) in [("tmp/d/f", "w+"), ("tmp/d/e/g", "a"), ("tmp/h", "w+")] {
        let fd = guest.open(name, mode).expect("created");
        guest.write(fd, b"0123456789").expect("room");
    }
    guest.link("tmp/h", "tmp/d/h").expect("free");
    guest.mkdir("tmp/gone").expect("free");
    guest.open("tmp/gone", "d").expect("there");
    guest.rmdir("tmp/gone").expect("empty");
    guest.unlink("tmp/d/f").expect("there");
    guest.open("usr/lib/m.py", "r").expect("in the layer");
    for _ in 0..random.below(60) {
        // Most of them fail; the rest make each sandbox another.
        odd_call(random, &mut guest).unwrap_or_default();
    }
    guest
}

/// Uses all there is in a sandbox, then takes it away: whatever was loaded must be as good as any other.
fn use_up(random: &mut Random, mut guest: Guest) {
    audit(&guest);
    check_links(&guest);
    fill_with_small_numbers(random, &mut guest);
    for _ in 0..20 {
        odd_call(random, &mut guest).unwrap_or_default();
    }
    let (copy, _) = fork_sandbox(&guest.tree(), &[&guest.descriptors]);
    let tree = guest.tree().with_credentials(Credentials::SERVICE);
    let all = lock(&tree).list("/", 200).expect("the root is a directory");
    for entry in &all {
        // Links may lead nowhere, directories are not read.
        lock(&tree).read_file(&entry.path).unwrap_or_default();
        lock(&tree).write_file(&entry.path, b"xy", 9).unwrap_or_default();
    }
    audit(&guest);
    // Writing through links may have made more.
    let all = lock(&tree).list("/", 200).expect("the root is a directory");
    for entry in all.iter().rev() {
        lock(&tree).remove(&entry.path, 9).unwrap_or_default();
    }
    check_links(&guest);
    drop(guest);
    assert_eq!(lock(&tree).usage(), FilesUsage::default());
    assert!(lock(&copy).list("/", 200).is_ok());
}

#[test]
fn flipped_bytes_make_no_sandbox_or_one_that_works() {
    let base = base();
    let (mut refused, mut loaded) = (0, 0);
    for seed in 1..=12 {
        let mut random = Random::seeded(seed);
        let good = bytes_of(&rich(&mut random, &base));
        use_up(&mut random, load(&good, &base).expect("just saved"));
        for _ in 0..700 {
            let mut bytes = good.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len() as u64) as usize;
                match random.below(4) {
                    0 => bytes[at] = random.next() as u8,
                    1 => bytes[at] ^= 1 << random.below(8),
                    2 => bytes.truncate(at.max(1)),
                    _ => bytes[at] = bytes[at].wrapping_add(1),
                }
            }
            match load(&bytes, &base) {
                Ok(guest) => {
                    loaded += 1;
                    use_up(&mut random, guest);
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 3000 && loaded > 500, "{refused} refused, {loaded} loaded");
}

/// The value in `json` that `left` others come before.
fn pick<'a>(json: &'a mut Value, left: &mut u64) -> Option<&'a mut Value> {
    if *left == 0 {
        return Some(json);
    }
    *left -= 1;
    match json {
        Value::Array(items) => items.iter_mut().find_map(|item| pick(item, left)),
        Value::Object(fields) => fields.values_mut().find_map(|value| pick(value, left)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn spoil(random: &mut Random, json: &mut Value) {
    let mut left = random.below(300);
    let Some(value) = pick(json, &mut left) else { return };
    match value {
        Value::Number(_) => {
            *value = random.of(&[0, 1, 2, 3, 7, 8, 10, 12, 1 << 20, u64::from(u32::MAX), 1 << 62, u64::MAX]).into();
        }
        Value::String(text) => *text = random.of(&["", ".", "..", "a/b", "a", "h", "d", "usr"]).to_owned(),
        Value::Array(items) if !items.is_empty() => {
            let at = random.below(items.len() as u64) as usize;
            match random.below(4) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                2 => items.swap(0, at),
                _ => items[at] = Value::Null,
            }
        }
        Value::Array(_) | Value::Object(_) | Value::Null | Value::Bool(_) => {}
    }
}

#[test]
fn made_up_fields_make_no_sandbox_or_one_that_works() {
    let base = base();
    let (mut refused, mut loaded) = (0, 0);
    for seed in 1..=10 {
        let mut random = Random::seeded(seed);
        let guest = rich(&mut random, &base);
        let files = save_sandbox(&guest.tree(), &[&guest.descriptors]);
        let good = serde_json::to_value(&files).expect("plain data");
        for _ in 0..600 {
            let mut json = good.clone();
            for _ in 0..=random.below(2) {
                spoil(&mut random, &mut json);
            }
            let Ok(files) = serde_json::from_value::<SandboxFiles>(json) else { continue };
            match files.load(&base) {
                Ok((tree, mut tables)) => {
                    loaded += 1;
                    let first = if tables.is_empty() { Descriptors::new(&tree, USER) } else { tables.remove(0) };
                    drop(tables);
                    use_up(&mut random, Guest::with_descriptors(first));
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 1000 && loaded > 500, "{refused} refused, {loaded} loaded");
}

fn index_of(guest: &Guest, path: &str) -> usize {
    let tree = lock(guest.descriptors.tree());
    let find = |parent: u32, name: &str| match tree.inodes.directory(parent)?.get(name)? {
        NodeId::Own(index) => Some(index),
        NodeId::Layer { .. } => None,
    };
    path.split('/').try_fold(0, find).expect("there") as usize
}

/// Returns the error from loading a sandbox with `tmp/a/b` and the file `tmp/f`, open as 4, after `damage`.
fn damaged(damage: impl FnOnce(&mut SandboxFiles, [usize; 3])) -> String {
    let mut guest = Guest::new();
    guest.mkdir("tmp/a").expect("free");
    guest.mkdir("tmp/a/b").expect("free");
    let fd = guest.open("tmp/f", "w").expect("created");
    guest.write(fd, b"0123").expect("room");
    let mut files = save_sandbox(&guest.tree(), &[&guest.descriptors]);
    damage(&mut files, ["tmp/a", "tmp/a/b", "tmp/f"].map(|path| index_of(&guest, path)));
    match files.load(&Base::bare()) {
        Ok(_) => "loaded".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn entries(files: &mut SandboxFiles, index: usize) -> &mut Vec<SavedEntry> {
    match &mut files.inodes[index].as_mut().expect("there").kind {
        SavedKind::Directory { entries, .. } => entries,
        _ => panic!("no directory"),
    }
}

fn content(files: &mut SandboxFiles, index: usize) -> (&mut u64, &mut Vec<(u32, Page)>) {
    match &mut files.inodes[index].as_mut().expect("there").kind {
        SavedKind::File { length, pages } => (length, pages),
        _ => panic!("no file"),
    }
}

const TMP: usize = 3;

#[test]
fn directories_that_make_no_tree_are_refused() {
    assert_eq!(damaged(|_, _| {}), "loaded");
    let entry = |name: &str, position, to: usize| SavedEntry {
        position,
        name: Arc::from(name),
        node_id: NodeId::Own(to as u32),
    };
    let circle = damaged(|files, [a, b, _]| {
        let moved = entries(files, TMP).remove(0);
        entries(files, b).push(SavedEntry { position: 3, ..moved });
        match &mut files.inodes[b].as_mut().expect("there").kind {
            SavedKind::Directory { next_position, .. } => *next_position = 4,
            _ => panic!("no directory {a}"),
        }
    });
    assert_eq!(circle, "the saved files: directories do not hang on the root, or are nested too deeply");
    let second_name = damaged(|files, [a, b, _]| entries(files, a).insert(0, entry("c", 0, b)));
    assert_eq!(second_name, "saved file 6: two entries have one name or position, or a position is out of range");
    let doubled = damaged(|files, [_, _, f]| entries(files, TMP)[0] = entry("f", 3, f));
    assert!(doubled.ends_with("a position is out of range"), "{doubled}");
    let twice = damaged(|files, [_, b, _]| entries(files, TMP)[0] = entry("c", 3, b));
    assert!(twice.starts_with("saved file 6") || twice.ends_with("one name"), "{twice}");
    let root = damaged(|files, _| entries(files, TMP)[0] = entry("c", 3, 0));
    assert_eq!(root, "saved file 3: an entry leads back to the root");
    let nowhere = damaged(|files, _| entries(files, TMP)[0] = entry("c", 3, 99));
    assert_eq!(nowhere, "saved file 3: an entry leads nowhere");
    for name in ["", ".", "..", "a/b", "a\0", &"n".repeat(256)] {
        let named = damaged(|files, _| entries(files, TMP)[0].name = Arc::from(name));
        assert_eq!(named, "saved file 3: an entry has a name that cannot be");
    }
    let lost = damaged(|files, _| drop(entries(files, TMP).pop()));
    assert_eq!(lost, "loaded", "a file that is still open needs no name");
    let lost = damaged(|files, _| drop(entries(files, TMP).remove(0)));
    assert_eq!(lost, "saved file 6: nothing leads to it");
    let own = damaged(|files, _| drop(entries(files, 0).remove(0)));
    assert_eq!(own, "saved file 1: nothing leads to it");
}

#[test]
fn files_past_the_quota_or_with_pages_that_do_not_fit_are_refused() {
    let over = "the saved files: they take more than their quota";
    assert_eq!(damaged(|files, [_, _, f]| *content(files, f).0 = u64::MAX), over);
    assert_eq!(damaged(|files, _| files.quota.bytes = 3), over);
    assert_eq!(damaged(|files, _| files.quota.count = 2), over);
    assert_eq!(
        damaged(|files, _| files.quota.bytes = u64::MAX),
        "the saved files: their quota is more than any sandbox has"
    );
    let pages = "saved file 8: its pages do not fit together";
    assert_eq!(damaged(|files, [_, _, f]| *content(files, f).0 = 3), pages);
    assert_eq!(damaged(|files, [_, _, f]| content(files, f).1[0].0 = u32::MAX), pages);
    let doubled = |files: &mut SandboxFiles, [_, _, f]: [usize; 3]| {
        let page = content(files, f).1[0].clone();
        content(files, f).1.push(page);
    };
    assert_eq!(damaged(doubled), pages);
    let long = |files: &mut SandboxFiles, [_, _, f]: [usize; 3]| {
        let (length, pages) = content(files, f);
        *length = 70_000;
        pages[0].1 = Page(Arc::new(vec![0; 65_537]));
    };
    assert_eq!(damaged(long), pages);
}

#[test]
fn numbers_and_descriptors_that_cannot_be_are_refused() {
    let number = |files: &mut SandboxFiles, of: usize, number| {
        files.inodes[of].as_mut().expect("there").number = number;
    };
    let taken = "saved file 8: its number is taken or out of range";
    assert_eq!(damaged(|files, [a, _, f]| number(files, f, a as u64 + 1)), taken);
    assert_eq!(damaged(|files, [_, _, f]| number(files, f, 0)), taken);
    assert_eq!(damaged(|files, [_, _, f]| number(files, f, 1 << 50)), taken);
    assert_eq!(damaged(|files, _| files.next_number = u64::MAX), "the saved files: more files than can be numbered");
    let descriptor = |damage: fn(&mut Vec<Option<SavedOpen>>)| damaged(|files, _| damage(&mut files.tables[0].open));
    let wrong = |number: usize, what: &str| format!("descriptor {number} of saved interpreter 0: {what}");
    assert_eq!(descriptor(|table| table[3] = None), wrong(3, "not the root directory"));
    assert_eq!(descriptor(|table| table[4] = table[3].clone()), wrong(4, "a second root directory"));
    assert_eq!(
        descriptor(|table| table.resize(257, None)),
        wrong(257, "more descriptors than an interpreter may have")
    );
    let rights = |table: &mut Vec<Option<SavedOpen>>| {
        table[4].as_mut().expect("the file").rights = u64::MAX;
    };
    assert_eq!(descriptor(rights), wrong(4, "it has rights that it cannot have"));
    let gone = |table: &mut Vec<Option<SavedOpen>>| {
        table[4].as_mut().expect("the file").what = What::File { node_id: NodeId::Own(77), offset: 0 };
    };
    assert_eq!(descriptor(gone), wrong(4, "what it has open is not there"));
    let directory = |table: &mut Vec<Option<SavedOpen>>| {
        table[4].as_mut().expect("the file").what = What::File { node_id: NodeId::Own(3), offset: 0 };
    };
    assert_eq!(descriptor(directory), wrong(4, "what it has open is not there"));
    let layer = |table: &mut Vec<Option<SavedOpen>>| {
        table[4].as_mut().expect("the file").what =
            What::File { node_id: NodeId::Layer { mount: 0, node: 1 }, offset: 0 };
    };
    assert_eq!(descriptor(layer), wrong(4, "what it has open is not there"));
}
