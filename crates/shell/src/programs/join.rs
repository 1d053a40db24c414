//! Program `join`.

use super::input::{Lines, open, options, two_operands};
use crate::bounds::Held;
use crate::state::{Done, Shell, Stop};
use std::cmp::Ordering;

/// Parts of a line that is written.
#[derive(Clone, Copy)]
enum Column {
    /// The field that lines are joined by.
    Key,
    /// A field of one side.
    Field(usize, usize),
}

pub(super) async fn join(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [("ignore-case", 'i'), ("header", 'h'), ("check-order", 'C'), ("nocheck-order", 'N')];
    let given = options(shell, "join", arguments, "1:2:j:t:o:e:a:v:i", &long, 1).await?;
    let (left, right) = two_operands(shell, "join", &given, 1).await?;
    let field = |letter| given.value(letter).or(given.value('j')).map_or(Some(1), |text| text.parse::<usize>().ok());
    let (Some(first @ 1..), Some(second @ 1..)) = (field('1'), field('2')) else {
        return Err(shell.fails("join", "invalid field number").await);
    };
    let separator = match given.value('t') {
        None => None,
        Some("\\t") => Some(b'\t'),
        Some("\\0") => Some(0),
        Some(text) if text.len() == 1 => text.bytes().next(),
        Some("") => Some(b'\n'),
        Some(text) => return Err(shell.fails("join", &format!("multi-character tab '{text}'")).await),
    };
    let columns = match given.values('o').as_slice() {
        [] | ["auto"] => None,
        lists => {
            let words = lists.iter().flat_map(|list| list.split([',', ' '])).map(column);
            match words.collect::<Option<Vec<Column>>>() {
                Some(columns) => Some(columns),
                None => return Err(shell.fails("join", &format!("invalid field specifier: '{}'", lists[0])).await),
            }
        }
    };
    let shows = |side: &str| given.values('a').contains(&side) || given.values('v').contains(&side);
    let mut joining = Joining {
        separator,
        columns,
        counts: None,
        empty: given.value('e').unwrap_or_default().to_owned(),
        folds: given.has('i'),
        fields: [first - 1, second - 1],
        alone: [shows("1"), shows("2")],
        paired: given.values('v').is_empty(),
    };
    let mut sides = Vec::new();
    for path in [left, right] {
        let Some(reader) = open(shell, "join", path).await else { return Ok(1) };
        sides.push(Side::new(shell, reader)?);
    }
    let [one, other] = sides.as_mut_slice() else { return Ok(1) };
    if given.has('h') {
        one.next(shell, &joining, 0).await?;
        other.next(shell, &joining, 1).await?;
        if let (Some(a), Some(b)) = (&one.row, &other.row) {
            joining.write(shell, Some(a), Some(b)).await?;
        }
    }
    one.next(shell, &joining, 0).await?;
    other.next(shell, &joining, 1).await?;
    if given.values('o') == ["auto"] {
        joining.counts = Some([&*one, &*other].map(|side| side.row.as_ref().map_or(0, |row| row.fields.len())));
    }
    joining.run(shell, one, other).await?;
    Ok(0)
}

fn column(text: &str) -> Option<Column> {
    match text.split_once('.') {
        None => (text == "0").then_some(Column::Key),
        Some((side @ ("1" | "2"), field)) => {
            Some(Column::Field(usize::from(side == "2"), field.parse::<usize>().ok()?.checked_sub(1)?))
        }
        Some(_) => None,
    }
}

struct Row {
    key: Vec<u8>,
    fields: Vec<Vec<u8>>,
}

/// Rows of one input.
struct Side {
    lines: Lines,
    row: Option<Row>,
}

impl Side {
    fn new(shell: &Shell, reader: crate::streams::Reader) -> Result<Self, Stop> {
        Ok(Self { lines: Lines::new(shell, reader)?, row: None })
    }

    async fn next(&mut self, shell: &Shell, joining: &Joining, side: usize) -> Result<(), Stop> {
        self.row = match self.lines.next(shell, "join").await? {
            false => None,
            true => {
                let line = &self.lines.line;
                // Fields take many times what a line of short ones does.
                let Some(_held) = shell.shared.used.hold(line.len() * 16) else {
                    return Err(shell.fails("join", "memory exhausted").await);
                };
                shell.step(line.len() as u64 / 256).await?;
                let fields: Vec<Vec<u8>> = match joining.separator {
                    Some(separator) => line.split(|byte| *byte == separator).map(<[u8]>::to_vec).collect(),
                    None => {
                        let words = line.split(|byte| matches!(byte, b' ' | b'\t'));
                        words.filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect()
                    }
                };
                let mut key = fields.get(joining.fields[side]).cloned().unwrap_or_default();
                if joining.folds {
                    key.make_ascii_lowercase();
                }
                Some(Row { key, fields })
            }
        };
        Ok(())
    }
}

struct Joining {
    separator: Option<u8>,
    columns: Option<Vec<Column>>,
    /// Number of fields of each side that are written, as the first lines have; none: as many as there are.
    counts: Option<[usize; 2]>,
    empty: String,
    folds: bool,
    /// The fields that both sides are joined by, from 0.
    fields: [usize; 2],
    /// Sides whose lines are written when they match none.
    alone: [bool; 2],
    /// True when lines that match are written.
    paired: bool,
}

impl Joining {
    async fn run(&self, shell: &Shell, one: &mut Side, other: &mut Side) -> Result<(), Stop> {
        loop {
            let order = match (&one.row, &other.row) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => a.key.cmp(&b.key),
            };
            match order {
                Ordering::Less => {
                    if self.alone[0] {
                        self.write(shell, one.row.as_ref(), None).await?;
                    }
                    one.next(shell, self, 0).await?;
                }
                Ordering::Greater => {
                    if self.alone[1] {
                        self.write(shell, None, other.row.as_ref()).await?;
                    }
                    other.next(shell, self, 1).await?;
                }
                Ordering::Equal => self.pair(shell, one, other).await?,
            }
        }
    }

    /// Writes each row of one side with each of the other, as long as their keys are the same.
    async fn pair(&self, shell: &Shell, one: &mut Side, other: &mut Side) -> Result<(), Stop> {
        let mut held: Held = shell.shared.used.hold(0).ok_or(Stop::Failed(1))?;
        let mut group = Vec::new();
        let Some(key) = other.row.as_ref().map(|row| row.key.clone()) else { return Ok(()) };
        while let Some(row) = other.row.take_if(|row| row.key == key) {
            let bytes: usize = row.fields.iter().map(|field| field.len() + 32).sum();
            if !held.grow(bytes + row.key.len() + 64) {
                return Err(shell.fails("join", "memory exhausted").await);
            }
            group.push(row);
            other.next(shell, self, 1).await?;
        }
        while one.row.as_ref().is_some_and(|row| row.key == key) {
            if self.paired {
                for row in &group {
                    self.write(shell, one.row.as_ref(), Some(row)).await?;
                }
            }
            one.next(shell, self, 0).await?;
        }
        Ok(())
    }

    async fn write(&self, shell: &Shell, one: Option<&Row>, other: Option<&Row>) -> Result<(), Stop> {
        let rows = [one, other];
        let field = |side: usize, at: usize| {
            let found = rows[side].and_then(|row| row.fields.get(at)).map(Vec::as_slice).unwrap_or_default();
            if found.is_empty() { self.empty.as_bytes() } else { found }
        };
        let key = || match one {
            Some(_) => field(0, self.fields[0]),
            None => field(1, self.fields[1]),
        };
        let parts: Vec<&[u8]> = match &self.columns {
            Some(columns) => columns
                .iter()
                .map(|column| match column {
                    Column::Key => key(),
                    Column::Field(side, at) => field(*side, *at),
                })
                .collect(),
            None => {
                let rest = |side: usize| {
                    let count = match self.counts {
                        Some(counts) => counts[side],
                        None => rows[side].map_or(0, |row| row.fields.len()),
                    };
                    let others = (0..count).filter(move |at| *at != self.fields[side]);
                    others.map(move |at| field(side, at))
                };
                std::iter::once(key()).chain(rest(0)).chain(rest(1)).collect()
            }
        };
        let mut out = parts.join(&self.separator.unwrap_or(b' '));
        out.push(b'\n');
        shell.out("join", &out).await
    }
}
