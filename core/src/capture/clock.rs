//! # Clock
//! Converts pcapng timestamps (if_tsresol, if_tsoffset) to integer nanoseconds.

use std::fmt;

const NS_PER_S: i128 = 1_000_000_000;

/// How an interface counts time: ticks of a unit since the epoch, and an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock {
    /// Option if_tsresol: with the top bit set the unit is a power of two, otherwise of ten. The other bits are the
    /// negative exponent.
    pub resolution: u8,
    /// Option if_tsoffset, in seconds.
    pub offset_s: i64,
    scale: Scale,
}

/// Conversion from ticks to nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    Multiply(u64),
    Divide(u64),
    /// Ticks times nanoseconds per second, shifted right by this number of bits.
    Shift(u32),
    /// The unit is so small that even 2^64 ticks are less than a nanosecond.
    Zero,
}

impl Clock {
    pub fn new(resolution: u8, offset_s: i64) -> Self {
        let exponent = u32::from(resolution & 0x7f);
        let scale = if resolution & 0x80 != 0 {
            Scale::Shift(exponent)
        } else if exponent <= 9 {
            Scale::Multiply(10u64.pow(9 - exponent))
        } else {
            10u64
                .checked_pow(exponent - 9)
                .map_or(Scale::Zero, Scale::Divide)
        };
        Clock {
            resolution,
            offset_s,
            scale,
        }
    }

    /// Returns the unit in ns, rounded up; `i64::MAX` if 64 bits cannot hold it.
    pub fn unit_ns(&self) -> i64 {
        let ns = match self.scale {
            Scale::Multiply(ns) => i128::from(ns),
            Scale::Divide(_) | Scale::Zero => 1,
            Scale::Shift(bits) => (NS_PER_S >> bits).max(1),
        };
        i64::try_from(ns).unwrap_or(i64::MAX)
    }

    /// Converts ticks to nanoseconds since the epoch, rounded down; `None` if 64 bits cannot hold them (outside the
    /// years 1677 to 2262).
    #[inline]
    pub fn ns(&self, ticks: u64) -> Option<i64> {
        let ns = match self.scale {
            Scale::Multiply(ns) => i128::from(ticks) * i128::from(ns),
            Scale::Divide(ticks_per_ns) => i128::from(ticks / ticks_per_ns),
            Scale::Shift(bits) => (i128::from(ticks) * NS_PER_S) >> bits,
            Scale::Zero => 0,
        };
        i64::try_from(ns + i128::from(self.offset_s) * NS_PER_S).ok()
    }
}

/// The unit is microseconds if the interface has no if_tsresol.
impl Default for Clock {
    fn default() -> Self {
        Clock::new(6, 0)
    }
}

/// Writes the unit, such as "10^-6 s".
impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = if self.resolution & 0x80 != 0 { 2 } else { 10 };
        write!(f, "{base}^-{} s", self.resolution & 0x7f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_is_a_nanosecond_or_more() {
        let unit_ns = |resolution| Clock::new(resolution, 0).unit_ns();
        assert_eq!(
            [0, 6, 9, 12, 0x80, 0x80 | 10, 0x80 | 63].map(unit_ns),
            [1_000_000_000, 1_000, 1, 1, 1_000_000_000, 976_562, 1]
        );
    }

    #[test]
    fn microseconds_by_default() {
        assert_eq!(
            Clock::default().ns(1_700_000_000_123_456),
            Some(1_700_000_000_123_456_000)
        );
    }

    #[test]
    fn powers_of_ten_down_to_the_nanosecond_are_exact() {
        assert_eq!(
            Clock::new(0, 0).ns(1_700_000_000),
            Some(1_700_000_000_000_000_000)
        );
        assert_eq!(
            Clock::new(9, 0).ns(1_700_000_000_123_456_789),
            Some(1_700_000_000_123_456_789)
        );
    }

    #[test]
    fn finer_powers_of_ten_are_rounded_down() {
        assert_eq!(
            Clock::new(12, 0).ns(1_700_000_123_456_789_999),
            Some(1_700_000_123_456_789)
        );
        assert_eq!(Clock::new(28, 0).ns(u64::MAX), Some(1));
        assert_eq!(Clock::new(29, 0).ns(u64::MAX), Some(0));
        assert_eq!(Clock::new(127, 0).ns(u64::MAX), Some(0));
    }

    #[test]
    fn powers_of_two() {
        assert_eq!(
            Clock::new(0x80 | 32, 0).ns((1_700_000_000 << 32) | 0x5555_5555),
            Some(1_700_000_000_333_333_333)
        );
        assert_eq!(
            Clock::new(0x80 | 63, 0).ns((1 << 63) | (1 << 61)),
            Some(1_250_000_000)
        );
        assert_eq!(Clock::new(0x80 | 127, 0).ns(u64::MAX), Some(0));
    }

    #[test]
    fn the_offset_is_signed() {
        assert_eq!(Clock::new(9, -100).ns(100_000_000_007), Some(7));
        assert_eq!(Clock::new(9, -101).ns(100_000_000_007), Some(-999_999_993));
    }

    #[test]
    fn a_time_beyond_64_bits_is_missing() {
        assert_eq!(Clock::default().ns(u64::MAX), None);
        assert_eq!(Clock::new(9, i64::MIN).ns(0), None);
        assert_eq!(Clock::new(0x80, i64::MAX).ns(u64::MAX), None);
    }
}
