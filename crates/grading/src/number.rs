//! Python's numbers, compared exactly or within a tolerance.

use num_bigint::BigInt;
use num_traits::{FromPrimitive as _, ToPrimitive as _};

use proofbox_types::value::Value;

/// Digits of an int in a text that is compared as an int. The largest float has 309; a longer int is no number here.
const MAX_INT_DIGITS: usize = 400;

/// Python number, for comparison.
#[derive(Debug)]
pub(crate) enum Number {
    /// An int, a bool, or a float without a fraction.
    Int(BigInt),
    /// Float that has a fraction, or is not finite.
    Float(f64),
    /// A complex number with an imaginary part.
    Complex(f64, f64),
}

/// Distance at which two numbers still count as equal: `atol + rtol * abs(expected)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    /// Relative tolerance: finite, and not negative.
    pub rtol: f64,
    /// Absolute tolerance, finite and at least 0.
    pub atol: f64,
}

impl Number {
    /// Reads a value; `None` unless it is a number.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Bool(v) => Self::Int(i64::from(*v).into()),
            Value::Int(v) => Self::Int((*v).into()),
            Value::BigInt(bytes) => Self::Int(BigInt::from_signed_bytes_le(bytes)),
            // Integral floats are ints, so that 2.0 and 2 are the same and large ones are compared exactly.
            Value::Float(v) => Self::of_float(*v),
            Value::Complex(re, im) if *im == 0.0 => Self::of_float(*re),
            Value::Complex(re, im) => Self::Complex(*re, *im),
            _ => return None,
        })
    }

    /// Reads a word of an output: an int or a float as Python and C write them, `nan` and `inf` in any case included.
    /// A decimal beyond the range of floats is `None`: rounded to infinity, it would equal what it is not.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
        if unsigned.bytes().all(|digit| digit.is_ascii_digit()) {
            let fits = (1..=MAX_INT_DIGITS).contains(&unsigned.len());
            return fits.then(|| word.parse().ok().map(Self::Int)).flatten();
        }
        let spelled_out = unsigned.starts_with(['i', 'I']);
        word.parse().ok().filter(|v: &f64| !v.is_infinite() || spelled_out).map(Self::of_float)
    }

    fn of_float(v: f64) -> Self {
        let integral = if v.fract() == 0.0 { BigInt::from_f64(v) } else { None };
        integral.map_or(Self::Float(v), Self::Int)
    }

    /// Compares as Python does, but for NaN, which equals NaN.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => same_float(*a, *b),
            (Self::Complex(a, b), Self::Complex(c, d)) => same_float(*a, *c) && same_float(*b, *d),
            _ => false,
        }
    }

    /// Compares as NumPy's `allclose` does, with `self` what is expected. An infinity, and an int too large for a
    /// float, is close to nothing but itself.
    pub(crate) fn is_close(&self, got: &Self, Tolerance { rtol, atol }: Tolerance) -> bool {
        if self.equals(got) {
            return true;
        }
        let (difference, size) = match (self, got) {
            // Their difference may be small where each is too large to be a float.
            (Self::Int(a), Self::Int(b)) => ((a - b).to_f64(), a.to_f64()),
            _ => {
                let (Some((a, b)), Some((c, d))) = (self.parts(), got.parts()) else { return false };
                (Some((a - c).hypot(b - d)), Some(a.hypot(b)))
            }
        };
        let (Some(difference), Some(size)) = (difference, size) else { return false };
        difference.is_finite() && size.is_finite() && difference.abs() <= atol + rtol * size.abs()
    }

    fn parts(&self) -> Option<(f64, f64)> {
        match self {
            Self::Int(v) => Some((v.to_f64().filter(|v| v.is_finite())?, 0.0)),
            Self::Float(v) => Some((*v, 0.0)),
            Self::Complex(re, im) => Some((*re, *im)),
        }
    }
}

/// Decimal number as Python's `Decimal` reads it, with all its digits. NaN is none: it equals nothing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decimal {
    /// Digits without zeros at either end, and the exponent of the last one. Zero has no digits and the exponent 0.
    Finite {
        is_negative: bool,
        digits: Vec<u8>,
        exponent: i64,
    },
    Infinite {
        is_negative: bool,
    },
}

impl Decimal {
    /// Reads a word.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        let is_negative = word.starts_with('-');
        let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
        if ["inf", "infinity"].iter().any(|name| unsigned.eq_ignore_ascii_case(name)) {
            return Some(Self::Infinite { is_negative });
        }
        let (number, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = whole.bytes().chain(fraction.bytes()).filter(|byte| *byte != b'_');
        let mut digits = digits.map(|byte| byte.is_ascii_digit().then_some(byte)).collect::<Option<Vec<u8>>>()?;
        if digits.is_empty() {
            return None;
        }
        let places = fraction.bytes().filter(u8::is_ascii_digit).count();
        let mut exponent = i64::from(exponent) - i64::try_from(places).ok()?;
        while digits.pop_if(|last| *last == b'0').is_some() {
            exponent += 1;
        }
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
        digits.drain(..zeros);
        if digits.is_empty() {
            return Some(Self::Finite { is_negative: false, digits, exponent: 0 });
        }
        Some(Self::Finite { is_negative, digits, exponent })
    }
}

fn same_float(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_keep_their_digits() {
        let decimal = |word: &str| Decimal::parse(word).expect("it is a number");
        for (word, other) in [
            ("1", "1.0"),
            ("100", "1e2"),
            ("-0", "0.00"),
            ("007", "7"),
            (".5", "5E-1"),
            ("1.", "+1"),
            ("1_000", "1e+3"),
            ("Infinity", "+inf"),
        ] {
            assert_eq!(decimal(word), decimal(other), "{word} {other}");
        }
        for (word, other) in
            [("0.1", "0.10000000000000000001"), ("1", "-1"), ("inf", "-inf"), ("1e5", "1e6"), ("12", "21")]
        {
            assert_ne!(decimal(word), decimal(other), "{word} {other}");
        }
        for word in ["", "-", ".", "e5", "1e", "nan", "1e99999999999", "0x1", "1,5", "--1", "1e1.0"] {
            assert_eq!(Decimal::parse(word), None, "{word}");
        }
    }

    #[test]
    fn words_are_numbers_as_python_and_c_write_them() {
        for (word, other) in [
            ("7", "+7.0"),
            ("007", "7"),
            (".5", "5e-1"),
            ("1.", "1"),
            ("-0.0", "0"),
            ("nan", "-NaN"),
            ("inf", "+Infinity"),
            ("-INF", "-infinity"),
            ("9007199254740993", "9007199254740993"),
        ] {
            let (a, b) = (Number::parse(word).expect("a number"), Number::parse(other).expect("a number"));
            assert!(a.equals(&b), "{word} {other}");
        }
        for (word, other) in [("inf", "-inf"), ("nan", "inf"), ("9007199254740993", "9007199254740992"), ("1", "-1")] {
            let (a, b) = (Number::parse(word).expect("a number"), Number::parse(other).expect("a number"));
            assert!(!a.equals(&b), "{word} {other}");
        }
        let long = "1".repeat(MAX_INT_DIGITS + 1);
        for word in
            ["", "+", "-", "--1", "1_000", "0x10", "1e999", "-1e999", "١", "１", "½", "∞", "in", "infinit", &long]
        {
            assert!(Number::parse(word).is_none(), "{word}");
        }
    }
}
