//! Calls with arguments that mean nothing: whatever a guest passes, the host neither panics nor loses count.

use super::test_guest::{FOLLOW, Guest, Random, USER, audit};
use super::test_saved::reloaded;
use super::{Base, Descriptors, Errno, FilesQuota, Layer, MAX_DESCRIPTORS, OpenHow, PathAt};
use bytes::Bytes;

const QUOTA: FilesQuota = FilesQuota { bytes: 3000, count: 14 };

/// Numbers likely to be on an edge of something.
fn odd_number(random: &mut Random) -> u64 {
    match random.below(8) {
        0 => random.next(),
        1 => u64::MAX - random.below(4),
        2 => u64::from(u32::MAX) - random.below(4),
        3 => 1 << random.below(64),
        4 => (1 << 18) - random.below(80),
        5 => i64::MAX as u64 + random.below(3),
        _ => random.below(300),
    }
}

fn odd_path(random: &mut Random, guest: &mut Guest, address: u32) -> PathAt {
    const PARTS: [&[u8]; 14] = [
        b"tmp",
        b"tmp",
        b"home/user",
        b"a",
        b"a",
        b"b",
        b"link",
        b"..",
        b".",
        b"usr/lib",
        b"m.py",
        b"dev/null",
        b"",
        b"\xff\0",
    ];
    let mut path = random.of(&[&b"tmp/"[..], b"tmp/", b""]).to_vec();
    for _ in 0..random.below(3) {
        let known = 13 + random.below(2) as usize;
        path.extend_from_slice(random.of(&PARTS[..known]));
        path.push(b'/');
    }
    if random.below(4) > 0 {
        path.pop();
    }
    let start = address as usize;
    guest.memory[start..start + path.len()].copy_from_slice(&path);
    match random.below(12) {
        0 => PathAt { fd: random.next() as u32, address: odd_number(random) as u32, length: odd_number(random) as u32 },
        _ => PathAt { fd: random.of(&[3, 3, 3, 3, 3, 3, 3, 3, 4, 5]), address, length: path.len() as u32 },
    }
}

/// Fills the memory with numbers that are mostly small, so that records read from anywhere often name something real.
pub(super) fn fill_with_small_numbers(random: &mut Random, guest: &mut Guest) {
    for number in guest.memory.chunks_mut(4) {
        let small = random.next() as u16 >> random.below(16);
        number.copy_from_slice(&u32::from(small).to_le_bytes());
    }
}

/// Calls something with odd arguments; most fail.
pub(super) fn odd_call(random: &mut Random, guest: &mut Guest) -> Result<(), Errno> {
    let path = odd_path(random, guest, 4096);
    let other = odd_path(random, guest, 8192);
    let (one, two) = (odd_number(random), odd_number(random));
    let odd = (odd_number(random) as u32, odd_number(random) as u32, odd_number(random) as u32);
    let (a, b, c) = match random.below(3) {
        0 => odd,
        _ => (16 * random.below(64) as u32, random.below(40) as u32, 16 * random.below(64) as u32),
    };
    let fd = match random.below(9) {
        0 => a,
        _ => random.below(9) as u32,
    };
    let how = OpenHow {
        lookup_flags: random.below(2) as u32,
        open_flags: random.of(&[0, 0, 1, 1, 1, 1, 1, 2, 5, 9, c]),
        rights: random.of(&[0, 0x42, 0x07ff_ffff, 0x07ff_ffff, 0x07ff_ffbf, one]),
        inheriting: random.of(&[0, 0x07ff_ffff, 0x07ff_ffff, two]),
        descriptor_flags: random.of(&[0, 0, 1, 4, b]),
    };
    let number = match random.below(41) {
        2 if random.below(6) > 0 => 24,
        number => number,
    };
    guest.call(|fds, call| match number {
        0 => fds.fd_advise(fd, one, two, b),
        1 => fds.fd_allocate(call, fd, one, two),
        2 => fds.fd_close(fd),
        3 => fds.fd_datasync(fd).and(fds.fd_sync(fd)),
        4 => fds.fd_fdstat_get(call, fd, b),
        5 => fds.fd_fdstat_set_flags(fd, b),
        6 => fds.fd_fdstat_set_rights(fd, one | 0x0fff_ffff, two),
        7 => fds.fd_filestat_get(call, fd, b),
        8 => fds.fd_filestat_set_size(call, fd, one),
        9 => fds.fd_filestat_set_times(call, fd, one, two, b),
        10 => fds.fd_read(call, fd, a, b, c),
        11 => fds.fd_pread(call, fd, a, b, one, c),
        12 => fds.fd_write(call, fd, a, b, c),
        13 => fds.fd_pwrite(call, fd, a, b, one, c),
        14 => fds.fd_prestat_get(call, fd, b),
        15 => fds.fd_prestat_dir_name(call, fd, a, b),
        16 => fds.fd_readdir(call, fd, a, b, one, c),
        17 => fds.fd_renumber(fd, b),
        18 => fds.fd_seek(call, fd, one as i64, b % 4, c),
        19 => fds.fd_tell(call, fd, b),
        20 => fds.path_create_directory(call, path),
        21 => fds.path_filestat_get(call, path, a % 3, b),
        22 => fds.path_filestat_set_times(call, path, FOLLOW, (one, two), c % 17),
        23 => fds.path_link(call, path, a % 3, other),
        24 | 25 | 31.. => fds.path_open(call, path, how, 64),
        26 => fds.path_readlink(call, path, a, b, c),
        27 => fds.path_remove_directory(call, path),
        28 => fds.path_rename(call, path, other),
        29 => fds.path_symlink(call, other.address, other.length, path),
        30 => fds.path_unlink_file(call, path),
    })
}

#[test]
fn calls_with_arguments_that_mean_nothing_never_panic_and_keep_the_books() {
    let files = [("m.py", Bytes::from_static(b"x = 1")), ("d/n.py", Bytes::from_static(b"y"))];
    let layer = Layer::new(files, 7).expect("paths agree");
    let base = Base::with_layers([("/usr/lib".to_owned(), layer)]).expect("free");
    let mut successes = 0;
    for seed in 1..=30 {
        let mut random = Random::seeded(seed);
        let mut guest = Guest::on(&base, QUOTA);
        fill_with_small_numbers(&mut random, &mut guest);
        for number in 0..4000 {
            successes += u32::from(odd_call(&mut random, &mut guest).is_ok());
            if number % 200 == 0 {
                audit(&guest);
            }
            if number % 500 == 0 {
                guest = reloaded(&guest, &base);
            }
        }
        assert!(guest.descriptors.open_count() <= MAX_DESCRIPTORS);
        let tree = guest.tree();
        drop(guest);
        let rest = Guest::with_descriptors(Descriptors::new(&tree, USER));
        audit(&rest);
    }
    // Else the arguments mean so little that nothing was tried.
    assert!(successes > 10_000, "{successes}");
}
