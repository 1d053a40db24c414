//! Decimal numbers of any length, with a scale: the number of digits after the point.

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{Signed, ToPrimitive, Zero};
use std::cmp::Ordering;

/// Digits of a number at most, those after the point included.
pub(super) const MAX_DIGITS: usize = 50_000;
/// The same in bits, and a few more.
const MAX_BITS: u64 = MAX_DIGITS as u64 * 10 / 3 + 64;
/// Memory of a number without its digits, in bytes.
const OVERHEAD: usize = 64;

/// Error of a result that would be too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong;

type Result<T> = std::result::Result<T, TooLong>;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Number {
    /// The digits, as an integer.
    digits: BigInt,
    scale: usize,
}

/// Returns a power of ten.
pub(super) fn power_of_ten(exponent: usize) -> Result<BigInt> {
    // Twice as long as a number may be, as it divides a product of two.
    if exponent > 2 * MAX_DIGITS + 100 {
        return Err(TooLong);
    }
    Ok(BigInt::from(10).pow(exponent as u32))
}

impl Number {
    pub(super) fn new(digits: BigInt, scale: usize) -> Result<Self> {
        match digits.bits() > MAX_BITS || scale > MAX_DIGITS {
            true => Err(TooLong),
            false => Ok(Self { digits, scale }),
        }
    }

    /// Parses a number. Digits that are none of the base count as its last one, but for a number of one digit.
    pub(super) fn parse(text: &str, base: u32) -> Result<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        if whole.len() + fraction.len() > MAX_DIGITS {
            return Err(TooLong);
        }
        let most = if whole.len() == 1 && !text.contains('.') { 35 } else { base - 1 };
        let digits: Vec<u8> =
            whole.chars().chain(fraction.chars()).map(|c| c.to_digit(36).unwrap_or(0).min(most) as u8).collect();
        if digits.is_empty() {
            return Ok(Self::default());
        }
        if digits.len() == 1 && fraction.is_empty() {
            return Ok(Self::from(u64::from(digits[0])));
        }
        let value = BigUint::from_radix_be(&digits, base).unwrap_or_default();
        let value = BigInt::from(value);
        if base == 10 || fraction.is_empty() {
            return Self::new(value, fraction.len());
        }
        let scaled = value * power_of_ten(fraction.len())? / BigInt::from(base).pow(fraction.len() as u32);
        Self::new(scaled, fraction.len())
    }

    pub(super) fn scale(&self) -> usize {
        self.scale
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits.is_zero()
    }

    pub(super) fn is_negative(&self) -> bool {
        self.digits.is_negative()
    }

    /// Returns the memory that the number takes, in bytes.
    pub(super) fn memory(&self) -> usize {
        OVERHEAD + (self.digits.bits() / 8) as usize
    }

    /// Returns the digits with so many of them after the point; those beyond are cut off.
    pub(super) fn scaled_digits(&self, scale: usize) -> Result<BigInt> {
        match scale.cmp(&self.scale) {
            Ordering::Equal => Ok(self.digits.clone()),
            Ordering::Greater => Ok(&self.digits * power_of_ten(scale - self.scale)?),
            Ordering::Less => Ok(&self.digits / power_of_ten(self.scale - scale)?),
        }
    }

    /// Cuts off digits beyond a scale.
    pub(super) fn truncate(self, scale: usize) -> Result<Self> {
        if self.scale <= scale {
            return Ok(self);
        }
        Ok(Self { digits: self.scaled_digits(scale)?, scale })
    }

    /// Returns the whole part, when it fits.
    pub(super) fn to_i64(&self) -> Option<i64> {
        self.scaled_digits(0).ok()?.to_i64()
    }

    /// Returns whether there is something after the point.
    pub(super) fn has_fraction(&self) -> bool {
        self.scale > 0
    }

    /// Returns the value, about.
    pub(super) fn to_f64(&self) -> f64 {
        let digits = self.digit_count() as i64 - self.scale as i64;
        if digits > 300 {
            return if self.is_negative() { f64::NEG_INFINITY } else { f64::INFINITY };
        }
        self.scaled_digits(20).ok().and_then(|digits| digits.to_f64()).map_or(0.0, |value| value / 1e20)
    }

    /// Returns the number of digits, without zeros in front.
    fn digit_count(&self) -> usize {
        if self.is_zero() { 0 } else { self.digits.magnitude().to_str_radix(10).len() }
    }

    /// Returns the number of digits: those before the point, unless that is zero, and those after it.
    pub(super) fn length(&self) -> usize {
        let whole = self.digit_count().saturating_sub(self.scale);
        (whole + self.scale).max(1)
    }

    fn aligned(&self, other: &Self) -> Result<(BigInt, BigInt, usize)> {
        let scale = self.scale.max(other.scale);
        Ok((self.scaled_digits(scale)?, other.scaled_digits(scale)?, scale))
    }

    pub(super) fn compare(&self, other: &Self) -> Result<Ordering> {
        let (left, right, _) = self.aligned(other)?;
        Ok(left.cmp(&right))
    }

    pub(super) fn negated(self) -> Self {
        Self { digits: -self.digits, scale: self.scale }
    }

    pub(super) fn add(&self, other: &Self) -> Result<Self> {
        let (left, right, scale) = self.aligned(other)?;
        Self::new(left + right, scale)
    }

    pub(super) fn subtract(&self, other: &Self) -> Result<Self> {
        let (left, right, scale) = self.aligned(other)?;
        Self::new(left - right, scale)
    }

    pub(super) fn multiply(&self, other: &Self, scale: usize) -> Result<Self> {
        let full = self.scale + other.scale;
        let kept = full.min(scale.max(self.scale).max(other.scale));
        let product = Self { digits: &self.digits * &other.digits, scale: full }.truncate(kept)?;
        Self::new(product.digits, kept)
    }

    /// Divides; none by zero.
    pub(super) fn divide(&self, other: &Self, scale: usize) -> Result<Option<Self>> {
        if other.is_zero() {
            return Ok(None);
        }
        if scale > MAX_DIGITS {
            return Err(TooLong);
        }
        let quotient = match (scale + other.scale).cmp(&self.scale) {
            Ordering::Less => &self.digits / (&other.digits * power_of_ten(self.scale - scale - other.scale)?),
            _ => &self.digits * power_of_ten(scale + other.scale - self.scale)? / &other.digits,
        };
        Self::new(quotient, scale).map(Some)
    }

    /// Returns what a division leaves; none by zero.
    pub(super) fn modulo(&self, other: &Self, scale: usize) -> Result<Option<Self>> {
        let Some(quotient) = self.divide(other, scale)? else { return Ok(None) };
        let kept = self.scale.max(other.scale + scale);
        let rest = self.subtract(&quotient.multiply(other, kept)?)?;
        Self::new(rest.scaled_digits(kept)?, kept).map(Some)
    }

    /// Raises to a power; none for zero to a negative one.
    pub(super) fn power(&self, exponent: i64, scale: usize) -> Result<Option<Self>> {
        if exponent == 0 {
            return Ok(Some(Self::from(1)));
        }
        let count = exponent.unsigned_abs();
        // Zero and one have no bits that grow as this says.
        let is_small = self.digits.magnitude() <= &BigUint::from(1_u8);
        let bits = self.digits.bits().saturating_sub(1).saturating_mul(count);
        if (!is_small && bits > MAX_BITS) || (self.scale as u64).saturating_mul(count) > 2 * MAX_DIGITS as u64 {
            return Err(TooLong);
        }
        let exact = match is_small {
            true if self.digits.sign() == Sign::Minus && count.is_multiple_of(2) => -self.digits.clone(),
            true => self.digits.clone(),
            false => self.digits.pow(count as u32),
        };
        let exact = Self { digits: exact, scale: self.scale * count as usize };
        if exponent < 0 {
            return Self::from(1).divide(&exact, scale);
        }
        let kept = exact.scale.min(scale.max(self.scale));
        let kept = exact.truncate(kept)?;
        Self::new(kept.digits, kept.scale).map(Some)
    }

    /// Returns the square root; none of a negative number.
    pub(super) fn square_root(&self, scale: usize) -> Result<Option<Self>> {
        if self.is_negative() {
            return Ok(None);
        }
        if self.is_zero() {
            return Ok(Some(Self::default()));
        }
        if self.compare(&Self::from(1))? == Ordering::Equal {
            return Ok(Some(Self::from(1)));
        }
        let kept = scale.max(self.scale);
        if kept > MAX_DIGITS {
            return Err(TooLong);
        }
        Self::new(self.scaled_digits(2 * kept)?.sqrt(), kept).map(Some)
    }

    /// Shows the number in a base.
    pub(super) fn render(&self, base: u32) -> String {
        if self.is_zero() {
            return "0".to_owned();
        }
        let mut text = if self.is_negative() { "-".to_owned() } else { String::new() };
        let one = BigUint::from(10_u8).pow(self.scale as u32);
        let (whole, fraction) = (self.digits.magnitude() / &one, self.digits.magnitude() % &one);
        if base == 10 {
            if !whole.is_zero() {
                text.push_str(&whole.to_str_radix(10));
            }
            if self.scale > 0 {
                text.push_str(&format!(".{:0>width$}", fraction.to_str_radix(10), width = self.scale));
            }
            return text;
        }
        let width = (base - 1).to_string().len();
        if !whole.is_zero() {
            for digit in digits_of(&whole, base) {
                text.push_str(digit_separator(base));
                text.push_str(&show_digit(digit, base, width));
            }
        }
        if self.scale > 0 {
            text.push('.');
            let count = fraction_digits(&one, base);
            let shifted = fraction * BigUint::from(base).pow(count as u32) / one;
            let shown = digits_of(&shifted, base);
            let zeros = std::iter::repeat_n(0, count - shown.len().min(count));
            for (at, digit) in zeros.chain(shown).enumerate() {
                if at > 0 {
                    text.push_str(digit_separator(base));
                }
                text.push_str(&show_digit(digit, base, width));
            }
        }
        text
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self { digits: BigInt::from(value), scale: 0 }
    }
}

/// Returns the digits of a number in a base, the first one first; none of zero.
fn digits_of(value: &BigUint, base: u32) -> Vec<u32> {
    if value.is_zero() {
        return Vec::new();
    }
    if base <= 256 {
        return value.to_radix_be(base).into_iter().map(u32::from).collect();
    }
    // As many digits at a time as a word holds: each division passes over the whole number.
    let base = u64::from(base);
    let (mut divisor, mut count) = (base, 1);
    while let Some(more) = divisor.checked_mul(base) {
        (divisor, count) = (more, count + 1);
    }
    let mut digits = Vec::new();
    let mut rest = value.clone();
    while !rest.is_zero() {
        let mut part = (&rest % divisor).to_u64().unwrap_or(0);
        rest /= divisor;
        for _ in 0..count {
            digits.push((part % base) as u32);
            part /= base;
        }
    }
    while digits.last() == Some(&0) {
        digits.pop();
    }
    digits.reverse();
    digits
}

/// Returns how many digits of a base are as fine as the decimal ones after the point.
fn fraction_digits(one: &BigUint, base: u32) -> usize {
    let mut count = (one.bits().saturating_sub(1) as f64 / f64::from(base).log2()) as usize;
    count = count.saturating_sub(1);
    let mut power = BigUint::from(base).pow(count as u32);
    while &power < one {
        power *= base;
        count += 1;
    }
    count
}

/// Returns what stands before a digit: those of large bases are decimal numbers.
fn digit_separator(base: u32) -> &'static str {
    if base <= 16 { "" } else { " " }
}

fn show_digit(digit: u32, base: u32, width: usize) -> String {
    match base <= 16 {
        true => char::from_digit(digit, 16).unwrap_or('0').to_ascii_uppercase().to_string(),
        false => format!("{digit:0width$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text, 10).expect("a number")
    }

    #[test]
    fn numbers_are_shown_as_they_were() {
        for text in ["1.50", ".001", "123456789012345678901234567890.5", "0"] {
            assert_eq!(number(text).render(10), text);
        }
        assert_eq!(number("255.5").render(16), "FF.8");
        assert_eq!(number("399").render(20), " 19 19");
        assert_eq!(number("18446744073709551616").render(1000), " 018 446 744 073 709 551 616");
        assert_eq!(number(&format!("1{}", "0".repeat(30))).render(1000), format!(" 001{}", " 000".repeat(10)));
        assert_eq!(number("4294967298.5").render(1 << 16), " 00001 00000 00002.32768");
    }

    #[test]
    fn what_is_too_long_is_no_number() {
        let long = number(&"9".repeat(MAX_DIGITS));
        assert_eq!(long.multiply(&long, 0), Err(TooLong));
        assert_eq!(number("2").power(1 << 40, 0), Err(TooLong));
        assert_eq!(number("1.1").power(1 << 40, 0), Err(TooLong));
        assert_eq!(number("1").divide(&number("3"), MAX_DIGITS + 1), Err(TooLong));
        assert_eq!(number("2").square_root(MAX_DIGITS + 1), Err(TooLong));
        assert!(Number::parse(&"9".repeat(MAX_DIGITS + 1), 10).is_err());
        assert_eq!(number("1").power(i64::MAX, 0), Ok(Some(Number::from(1))));
    }
}
