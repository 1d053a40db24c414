//! Room by owner: who holds how much, and from whom room is made.
//!
//! Room is made from the owner who holds most, as long as that is more than an equal share of all there is and more
//! than the owner holds for whom it is made; else from that owner's own. So whoever fills the store loses their own,
//! and a neighbour within its share loses nothing.

use std::collections::VecDeque;

use rusqlite::types::{FromSql, ToSql};
use rusqlite::{Connection, params};
use uuid::Uuid;

use super::error::StoreError;
use proofbox_types::ids::KeyId;

/// Bounds within which something is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Bytes of all checkpoints, sessions and volumes together.
    pub total_bytes: u64,
    /// Bytes that the owner may hold, jobs included; none: no limit of its own.
    pub owner_bytes: Option<u64>,
}

/// Kinds of things that are counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Area {
    /// Checkpoints, sessions on disk, and volumes.
    Checkpoints,
    Jobs,
}

impl Area {
    fn number(self) -> i64 {
        match self {
            Area::Checkpoints => 0,
            Area::Jobs => 1,
        }
    }
}

/// Counts everything anew. Triggers keep it right from then on.
pub(super) fn recount(connection: &Connection) -> Result<(), StoreError> {
    let count = "
        BEGIN;
        DELETE FROM holdings;
        INSERT INTO holdings (area, owner, bytes)
            SELECT 0, owner, sum(bytes) FROM (
                SELECT ifnull(owner, '') AS owner, bytes FROM checkpoints
                UNION ALL SELECT owner, bytes FROM volumes WHERE bytes > 0
            ) GROUP BY owner;
        INSERT INTO holdings (area, owner, bytes)
            SELECT 1, ifnull(owner, x''), sum(bytes) FROM jobs GROUP BY ifnull(owner, x'');
        COMMIT;
    ";
    let counted = connection.execute_batch(count);
    if counted.is_err() && !connection.is_autocommit() {
        // The first error says more.
        connection.execute_batch("ROLLBACK").unwrap_or_default();
    }
    Ok(counted?)
}

/// An owner as an area has it.
pub(super) trait Owner: Clone + PartialEq + FromSql {
    const AREA: Area;

    /// Returns the bytes that the same owner holds in the other area.
    fn held_elsewhere(&self, connection: &Connection) -> Result<u64, StoreError>;
}

/// Owner of a checkpoint: the key's id, or a word; empty for nobody.
impl Owner for String {
    const AREA: Area = Area::Checkpoints;

    fn held_elsewhere(&self, connection: &Connection) -> Result<u64, StoreError> {
        match Uuid::parse_str(self) {
            Ok(key) => held_by(connection, Area::Jobs, &key.as_bytes()[..]),
            Err(_) => Ok(0),
        }
    }
}

/// Owner of a job: the key's id; empty for nobody.
impl Owner for Vec<u8> {
    const AREA: Area = Area::Jobs;

    fn held_elsewhere(&self, connection: &Connection) -> Result<u64, StoreError> {
        match Uuid::from_slice(self) {
            Ok(key) => held_by(connection, Area::Checkpoints, KeyId::from(key).to_string()),
            Err(_) => Ok(0),
        }
    }
}

fn held_by(connection: &Connection, area: Area, owner: impl ToSql) -> Result<u64, StoreError> {
    let sum = "SELECT coalesce(sum(bytes), 0) FROM holdings WHERE area = ? AND owner = ?";
    let bytes: i64 = connection.prepare_cached(sum)?.query_row(params![area.number(), owner], |row| row.get(0))?;
    Ok(u64::try_from(bytes).unwrap_or_default())
}

/// Bytes that each owner holds in an area.
fn held<O: Owner>(connection: &Connection) -> Result<Vec<(O, u64)>, StoreError> {
    let select = "SELECT owner, bytes FROM holdings WHERE area = ? AND bytes > 0";
    let mut select = connection.prepare_cached(select)?;
    let mut rows = select.query([O::AREA.number()])?;
    let mut held = Vec::new();
    while let Some(row) = rows.next()? {
        held.push((row.get(0)?, u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default()));
    }
    Ok(held)
}

/// Bytes of all in an area.
pub(super) fn total(connection: &Connection, area: Area) -> Result<u64, StoreError> {
    let sum = "SELECT coalesce(sum(bytes), 0) FROM holdings WHERE area = ?";
    let total: i64 = connection.prepare_cached(sum)?.query_row([area.number()], |row| row.get(0))?;
    Ok(u64::try_from(total).unwrap_or_default())
}

/// Thing that may be removed to make room.
pub(super) struct Removable<T> {
    pub(super) bytes: u64,
    pub(super) what: T,
}

/// Start of the next page in the list of what may go: a kind, and the number of things of that kind to skip.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Position {
    pub(super) kind: usize,
    pub(super) after: usize,
}

/// A page of what may go of a kind, the first to go first: empty after the last, none where there is no such kind.
pub(super) type Page<T> = Option<VecDeque<Removable<T>>>;

/// Things on one page. Most writes need one or two to go.
pub(super) const PAGE: usize = 64;

/// Things that are to go, and whether the rest fits then.
struct Plan<T> {
    doomed: Vec<T>,
    fits: bool,
}

/// Finds what is to go so that `wanted` more bytes of `owner` fit.
///
/// # Errors
///
/// Returns [`StoreError::OverQuota`], [`StoreError::NoRoom`], or a file that cannot be read.
pub(super) fn plan_for<O: Owner, T>(
    connection: &Connection,
    owner: &O,
    wanted: u64,
    quota: Quota,
    read: impl FnMut(&O, Position) -> Result<Page<T>, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut held = held::<O>(connection)?;
    if let Some(allowed) = quota.owner_bytes {
        let own = held.iter().find(|(other, _)| other == owner).map_or(0, |(_, bytes)| *bytes);
        let asked = own.saturating_add(owner.held_elsewhere(connection)?).saturating_add(wanted);
        if asked > allowed {
            return Err(StoreError::OverQuota { asked, allowed });
        }
    }
    match held.iter_mut().find(|(other, _)| other == owner) {
        Some((_, bytes)) => *bytes = bytes.saturating_add(wanted),
        None => held.push((owner.clone(), wanted)),
    }
    // Nothing that goes would be enough.
    if wanted > quota.total_bytes {
        return Err(StoreError::NoRoom);
    }
    let Plan { doomed, fits } = plan(held, Some(owner), quota.total_bytes, read)?;
    if fits { Ok(doomed) } else { Err(StoreError::NoRoom) }
}

/// Finds what is to go so that what is there fits; less, where not enough may go.
pub(super) fn plan_to_fit<O: Owner, T>(
    connection: &Connection,
    total_bytes: u64,
    read: impl FnMut(&O, Position) -> Result<Page<T>, StoreError>,
) -> Result<Vec<T>, StoreError> {
    Ok(plan(held::<O>(connection)?, None, total_bytes, read)?.doomed)
}

struct Holder<O, T> {
    owner: O,
    bytes: u64,
    /// Read from what may go, and not yet taken.
    page: VecDeque<Removable<T>>,
    next: Position,
    /// True when nothing more may be removed.
    exhausted: bool,
}

impl<O, T> Holder<O, T> {
    /// The next that may go.
    fn take(
        &mut self,
        read: &mut impl FnMut(&O, Position) -> Result<Page<T>, StoreError>,
    ) -> Result<Option<Removable<T>>, StoreError> {
        while self.page.is_empty() && !self.exhausted {
            match read(&self.owner, self.next)? {
                None => self.exhausted = true,
                Some(page) if page.is_empty() => self.next = Position { kind: self.next.kind + 1, after: 0 },
                Some(page) => {
                    self.next.after += page.len();
                    self.page = page;
                }
            }
        }
        let taken = self.page.pop_front();
        self.bytes = self.bytes.saturating_sub(taken.as_ref().map_or(0, |taken| taken.bytes));
        Ok(taken)
    }
}

fn plan<O: Clone + PartialEq, T>(
    held: Vec<(O, u64)>,
    claimant: Option<&O>,
    allowed: u64,
    mut read: impl FnMut(&O, Position) -> Result<Page<T>, StoreError>,
) -> Result<Plan<T>, StoreError> {
    let mut doomed = Vec::new();
    let mut total = held.iter().fold(0, |sum: u64, (_, bytes)| sum.saturating_add(*bytes));
    let share = allowed / (held.len() as u64).max(1);
    let holder =
        |(owner, bytes)| Holder { owner, bytes, page: VecDeque::new(), next: Position::default(), exhausted: false };
    let mut holders: Vec<Holder<O, T>> = held.into_iter().map(holder).collect();
    while total > allowed {
        let claimed = holders.iter().find(|holder| claimant == Some(&holder.owner)).map(|holder| holder.bytes);
        let may_lose = |holder: &&mut Holder<O, T>| {
            let is_claimant = claimant == Some(&holder.owner);
            let holds_most = holder.bytes > share && claimed.is_none_or(|claimed| holder.bytes > claimed);
            !holder.exhausted && (is_claimant || holds_most)
        };
        let Some(largest) = holders.iter_mut().filter(may_lose).max_by_key(|holder| holder.bytes) else {
            return Ok(Plan { doomed, fits: false });
        };
        if let Some(taken) = largest.take(&mut read)? {
            total = total.saturating_sub(taken.bytes);
            doomed.push(taken.what);
        }
    }
    Ok(Plan { doomed, fits: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plans where each owner has things of ten bytes that may go, as many as `removable` says.
    fn planned(
        held: &[(char, u64)],
        claimant: Option<char>,
        allowed: u64,
        removable: &[(char, usize)],
    ) -> (String, bool) {
        // Two on each page, of two kinds.
        let things = |owner: &char, Position { kind, after }| {
            let count = removable.iter().find(|(other, _)| other == owner).map_or(0, |(_, count)| *count);
            let of_kind = if kind == 0 { count / 2 } else { count - count / 2 };
            let page = (0..of_kind.saturating_sub(after).min(2)).map(|_| Removable { bytes: 10, what: *owner });
            Ok((kind < 2).then(|| page.collect()))
        };
        let plan = plan(held.to_vec(), claimant.as_ref(), allowed, things).expect("nothing is read");
        (plan.doomed.into_iter().collect(), plan.fits)
    }

    #[test]
    fn nothing_goes_where_all_fits() {
        assert_eq!(planned(&[('a', 60), ('b', 40)], Some('b'), 100, &[('a', 6), ('b', 4)]), (String::new(), true));
    }

    #[test]
    fn who_holds_most_makes_room() {
        let all = [('a', 9), ('b', 9), ('c', 9)];
        assert_eq!(planned(&[('a', 80), ('b', 30)], Some('b'), 100, &all), ("a".to_owned(), true));
        assert_eq!(planned(&[('a', 80), ('b', 30)], Some('a'), 100, &all), ("a".to_owned(), true));
        // Who holds little gives its own where others have nothing that may go.
        assert_eq!(planned(&[('a', 80), ('b', 30)], Some('b'), 100, &[('b', 3)]), ("b".to_owned(), true));
        // The two largest, in turn, and not the third.
        assert_eq!(planned(&[('a', 60), ('b', 55), ('c', 15)], Some('c'), 90, &all), ("abab".to_owned(), true));
    }

    #[test]
    fn a_neighbour_within_its_share_or_with_less_than_the_claimant_loses_nothing() {
        let others = [('b', 9), ('c', 9)];
        assert_eq!(planned(&[('a', 80), ('b', 30)], Some('a'), 100, &others), (String::new(), false));
        // More than an equal share of 33, and less than the claimant.
        assert_eq!(planned(&[('a', 60), ('b', 45), ('c', 5)], Some('a'), 100, &others), (String::new(), false));
        assert_eq!(planned(&[('a', 60), ('b', 40)], None, 80, &others), (String::new(), false));
    }

    #[test]
    fn what_can_never_fit_is_told_as_such() {
        assert_eq!(planned(&[('a', 200)], Some('a'), 100, &[('a', 5)]), ("aaaaa".to_owned(), false));
        assert_eq!(planned(&[('a', 50), ('b', 60)], Some('a'), 0, &[]), (String::new(), false));
    }
}
