//! New inputs out of honest ones.

/// An input is cut off here, or at twice the longest honest one.
const MAX_LENGTH: usize = 256 << 10;
/// Lengths, counts and names are at the beginning, mostly: half of all changes are made there.
const BEGINNING: usize = 2 << 10;
/// Inputs that were accepted, kept to go on from.
const LEARNED: usize = 2000;

/// Numbers that look random enough (Knuth's MMIX).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most.max(1)
    }
}

/// Bytes that lengths, tags and numbers turn on.
const ODD: [&[u8]; 18] = [
    b"\0",
    b"\x01",
    b"\x7f",
    b"\x80",
    b"\xff",
    b"\xff\xff",
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x80",
    b"\xff\xff\xff\x7f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
    b"-1",
    b"18446744073709551616",
    b"1e999",
    b"\xe2\x80\xae",
    b"\xc3",
    b"\xed\xa0\x80",
];

/// Makes inputs.
pub(crate) struct Mutator {
    numbers: Numbers,
    /// Honest inputs, and after them accepted ones.
    inputs: Vec<Vec<u8>>,
    honest: usize,
    words: Vec<Vec<u8>>,
    longest: usize,
}

impl Mutator {
    /// From these, with words that mean something to the parser.
    pub(crate) fn new(seed: u64, seeds: Vec<Vec<u8>>, words: Vec<Vec<u8>>) -> Self {
        let longest = seeds.iter().map(|seed| 2 * seed.len()).max().unwrap_or(0).max(MAX_LENGTH);
        Self { numbers: Numbers(seed), honest: seeds.len(), inputs: seeds, words, longest }
    }

    /// Goes on from an input that was accepted.
    pub(crate) fn learn(&mut self, input: Vec<u8>) {
        if self.inputs.len() < self.honest + LEARNED {
            self.inputs.push(input);
        } else {
            let place = self.honest + self.numbers.below(LEARNED);
            self.inputs[place] = input;
        }
    }

    fn pick(&mut self) -> Vec<u8> {
        let most = if self.numbers.below(3) == 0 { self.honest } else { self.inputs.len() };
        self.inputs[self.numbers.below(most)].clone()
    }

    fn piece(&mut self) -> Vec<u8> {
        if self.words.is_empty() || self.numbers.below(2) == 0 {
            ODD[self.numbers.below(ODD.len())].to_vec()
        } else {
            self.words[self.numbers.below(self.words.len())].clone()
        }
    }

    /// The next input.
    pub(crate) fn next(&mut self) -> Vec<u8> {
        let mut input = self.pick();
        for _ in 0..=self.numbers.below(6) {
            let most = if self.numbers.below(2) == 0 { input.len() } else { input.len().min(BEGINNING) };
            let at = self.numbers.below(most + 1);
            let to = (at + self.numbers.below(32)).min(input.len());
            match self.numbers.below(10) {
                0 if at < input.len() => input[at] ^= 1 << self.numbers.below(8),
                1 if at < input.len() => input[at] = self.numbers.below(256) as u8,
                2 if at < input.len() => {
                    input[at] = input[at].wrapping_add(1).wrapping_sub(self.numbers.below(3) as u8);
                }
                3 => drop(input.splice(at..to, [])),
                4 => {
                    let piece = input[at..to].repeat(1 + self.numbers.below(64));
                    input.splice(at..at, piece);
                }
                5 => {
                    let other = self.pick();
                    let from = self.numbers.below(other.len() + 1);
                    let until = (from + self.numbers.below(256)).min(other.len());
                    input.splice(at..to, other[from..until].iter().copied());
                }
                6 => input.truncate(at),
                7 => {
                    let piece = self.piece().repeat(1 + self.numbers.below(300));
                    input.splice(at..at, piece);
                }
                8 => {
                    let (piece, to) = (self.piece(), (at + self.numbers.below(9)).min(input.len()));
                    input.splice(at..to, piece);
                }
                _ => {
                    let piece = self.piece();
                    input.splice(at..at, piece);
                }
            }
            input.truncate(self.longest);
        }
        input
    }
}
