//! Functions of `bc -l`, in integers that stand for so many digits after the point.

use super::failure::Failure;
use super::number::{MAX_DIGITS, Number, TooLong, power_of_ten};
use crate::bounds::Pace;
use crate::state::Shell;
use num_bigint::BigInt;
use num_traits::{One, Signed, Zero};

/// Digits beyond those that are shown.
const GUARD: usize = 12;

/// Work with a number of digits after the point.
struct Fixed<'s> {
    shell: &'s Shell,
    digits: usize,
    one: BigInt,
    pace: Pace,
}

/// Signs of the members of a series.
#[derive(Clone, Copy)]
enum Signs {
    /// Signs of the arc tangent's series.
    Alternating,
    /// Signs of the inverse hyperbolic tangent's series.
    Equal,
}

type Result<T> = std::result::Result<T, Failure>;

impl<'s> Fixed<'s> {
    fn new(shell: &'s Shell, digits: usize) -> Result<Self> {
        if digits > MAX_DIGITS {
            return Err(TooLong.into());
        }
        Ok(Self { shell, digits, one: power_of_ten(digits)?, pace: Pace::new() })
    }

    fn multiply(&self, left: &BigInt, right: &BigInt) -> BigInt {
        left * right / &self.one
    }

    fn divide(&self, left: &BigInt, right: &BigInt) -> BigInt {
        left * &self.one / right
    }

    fn square_root(&self, value: &BigInt) -> BigInt {
        (value * &self.one).sqrt()
    }

    /// Counts the work that was done since the last time.
    async fn count(&mut self) -> Result<()> {
        self.shell.step(1).await?;
        Ok(self.shell.count_paced(&mut self.pace).await?)
    }

    /// Returns a number with the digits that are to be shown.
    fn finish(&self, value: &BigInt, scale: usize) -> Result<Number> {
        Ok(Number::new(value / power_of_ten(self.digits - scale)?, scale)?)
    }

    /// Returns e raised to a value that is not negative.
    async fn exponential(&mut self, value: &BigInt) -> Result<BigInt> {
        // Halved until the series is short, and squared as often.
        let halvings = (value.bits() + 8).saturating_sub(self.one.bits());
        let small = value >> halvings;
        let (mut sum, mut term) = (self.one.clone() + &small, small.clone());
        let mut count = 1_u64;
        while !term.is_zero() {
            self.count().await?;
            count += 1;
            term = self.multiply(&term, &small) / count;
            sum += &term;
        }
        for _ in 0..halvings {
            self.count().await?;
            sum = self.multiply(&sum, &sum);
        }
        Ok(sum)
    }

    /// Returns the natural logarithm of a positive value.
    async fn logarithm(&mut self, value: &BigInt) -> Result<BigInt> {
        let mut root = value.clone();
        let mut doublings = 1_u32;
        // Drawn the root of until it is near one.
        while (&root - &self.one).abs() > &self.one >> 6 {
            self.count().await?;
            root = self.square_root(&root);
            doublings += 1;
        }
        let ratio = self.divide(&(&root - &self.one), &(&root + &self.one));
        Ok(self.arcus(&ratio, Signs::Equal).await? << doublings)
    }

    /// Sums up the series of the arc tangent, with these signs.
    async fn arcus(&mut self, value: &BigInt, signs: Signs) -> Result<BigInt> {
        let square = self.multiply(value, value);
        let (mut sum, mut power) = (value.clone(), value.clone());
        let mut count = 1_u64;
        while !power.is_zero() {
            self.count().await?;
            power = self.multiply(&power, &square);
            count += 2;
            let term = &power / count;
            match signs {
                Signs::Alternating if count % 4 == 3 => sum -= term,
                Signs::Alternating | Signs::Equal => sum += term,
            }
        }
        Ok(sum)
    }

    /// Returns the arc tangent of `1/count`.
    async fn arcus_of_part(&mut self, count: u64) -> Result<BigInt> {
        let mut power = &self.one / count;
        let mut sum = power.clone();
        let mut at = 1_u64;
        while !power.is_zero() {
            self.count().await?;
            power /= count * count;
            at += 2;
            let term = &power / at;
            if at % 4 == 3 { sum -= term } else { sum += term }
        }
        Ok(sum)
    }

    async fn pi(&mut self) -> Result<BigInt> {
        let (fifth, other) = (self.arcus_of_part(5).await?, self.arcus_of_part(239).await?);
        Ok(fifth * 16 - other * 4)
    }

    /// Returns the arc tangent of a value that is not negative.
    async fn arc_tangent(&mut self, value: &BigInt) -> Result<BigInt> {
        if value > &self.one {
            let inverse = self.divide(&self.one.clone(), value);
            let rest = Box::pin(self.arc_tangent(&inverse)).await?;
            return Ok(self.pi().await? / 2 - rest);
        }
        let mut small = value.clone();
        let mut doublings = 0_u32;
        while small > &self.one >> 4 {
            self.count().await?;
            let root = self.square_root(&(&self.one + self.multiply(&small, &small)));
            small = self.divide(&small, &(&self.one + root));
            doublings += 1;
        }
        Ok(self.arcus(&small, Signs::Alternating).await? << doublings)
    }

    /// Returns the sine of a value.
    async fn sine(&mut self, value: &BigInt) -> Result<BigInt> {
        let pi = self.pi().await?;
        let half_turns = value / &pi;
        let mut rest = value % &pi;
        // The series is short near zero.
        if rest.abs() > &pi / 2 {
            rest = if rest.is_negative() { -&pi - rest } else { &pi - rest };
        }
        let square = self.multiply(&rest, &rest);
        let (mut sum, mut term) = (rest.clone(), rest);
        let mut count = 1_u64;
        while !term.is_zero() {
            self.count().await?;
            term = -self.multiply(&term, &square) / (count + 1) / (count + 2);
            sum += &term;
            count += 2;
        }
        Ok(if half_turns.bit(0) { -sum } else { sum })
    }
}

/// Returns the digits before the point, about.
fn whole_digits(value: &Number) -> usize {
    let length = value.scaled_digits(0).map_or(u64::MAX, |whole| whole.bits());
    (length / 3) as usize + 1
}

fn too_long<T>() -> Result<T> {
    Err(TooLong.into())
}

/// Returns e raised to a number.
pub(super) async fn exponential(shell: &Shell, value: &Number, scale: usize) -> Result<Number> {
    let exponent = value.to_f64();
    let digits = exponent.abs() * std::f64::consts::LOG10_E;
    if exponent > 0.0 && digits > MAX_DIGITS as f64 {
        return too_long();
    }
    if exponent < 0.0 && digits > scale as f64 + 2.0 {
        return Ok(Number::new(BigInt::zero(), scale)?);
    }
    // Halving and squaring lose a digit each few times.
    let mut fixed = Fixed::new(shell, scale + digits as usize + GUARD + 12)?;
    let positive = value.scaled_digits(fixed.digits)?.abs();
    let mut result = fixed.exponential(&positive).await?;
    if value.is_negative() {
        result = fixed.divide(&fixed.one.clone(), &result);
    }
    fixed.finish(&result, scale)
}

/// Returns the natural logarithm of a number.
pub(super) async fn logarithm(shell: &Shell, value: &Number, scale: usize) -> Result<Number> {
    if value.is_zero() || value.is_negative() {
        // As far as there are digits for it.
        let least = BigInt::one() - power_of_ten(scale)?;
        return Ok(Number::new(least * power_of_ten(scale)?, scale)?);
    }
    let mut fixed = Fixed::new(shell, scale.max(value.scale()) + GUARD + 20)?;
    let scaled = value.scaled_digits(fixed.digits)?;
    // A small number has few digits to draw roots of.
    let is_small = scaled < fixed.one;
    let scaled = if is_small { fixed.divide(&fixed.one.clone(), &scaled) } else { scaled };
    let result = fixed.logarithm(&scaled).await?;
    fixed.finish(&if is_small { -result } else { result }, scale)
}

pub(super) async fn sine(shell: &Shell, value: &Number, scale: usize) -> Result<Number> {
    let mut fixed = Fixed::new(shell, scale + whole_digits(value) + GUARD)?;
    let result = fixed.sine(&value.scaled_digits(fixed.digits)?).await?;
    fixed.finish(&result, scale)
}

pub(super) async fn cosine(shell: &Shell, value: &Number, scale: usize) -> Result<Number> {
    if value.is_zero() {
        return Ok(Number::new(power_of_ten(scale)?, scale)?);
    }
    let mut fixed = Fixed::new(shell, scale + whole_digits(value) + GUARD)?;
    let quarter = fixed.pi().await? / 2;
    let result = fixed.sine(&(value.scaled_digits(fixed.digits)? + quarter)).await?;
    fixed.finish(&result, scale)
}

pub(super) async fn arc_tangent(shell: &Shell, value: &Number, scale: usize) -> Result<Number> {
    let mut fixed = Fixed::new(shell, scale + GUARD + 4)?;
    let result = fixed.arc_tangent(&value.scaled_digits(fixed.digits)?.abs()).await?;
    fixed.finish(&if value.is_negative() { -result } else { result }, scale)
}

/// Returns the Bessel function of a whole order.
pub(super) async fn bessel(shell: &Shell, order: &Number, value: &Number, scale: usize) -> Result<Number> {
    let Some(order) = order.to_i64().filter(|order| order.unsigned_abs() < 1_000_000) else { return too_long() };
    let size = value.to_f64().abs();
    if size > MAX_DIGITS as f64 {
        return too_long();
    }
    // Terms grow with the value before they shrink.
    let mut fixed = Fixed::new(shell, scale + size as usize + GUARD)?;
    let half = value.scaled_digits(fixed.digits)? / 2;
    let square = fixed.multiply(&half, &half);
    let mut term = fixed.one.clone();
    for factor in 1..=order.unsigned_abs() {
        if term.is_zero() {
            break;
        }
        fixed.count().await?;
        term = fixed.multiply(&term, &half) / factor;
    }
    let mut sum = term.clone();
    let mut count = 1_u64;
    while !term.is_zero() {
        fixed.count().await?;
        term = -fixed.multiply(&term, &square) / count / (count + order.unsigned_abs());
        sum += &term;
        count += 1;
    }
    let is_turned = order < 0 && order % 2 != 0;
    fixed.finish(&if is_turned { -sum } else { sum }, scale)
}
