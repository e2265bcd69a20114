//! # Rate
//! Quotients of numbers that may exceed 64 bits.

/// Returns bytes per second, of `bytes` in a time above zero; at most `i64::MAX`.
#[must_use]
pub fn per_second(bytes: i64, time_ns: i64) -> i64 {
    quotient(i128::from(bytes) * 1_000_000_000, time_ns)
}

/// Returns a quotient, rounded towards zero, at most `i64::MAX`; the divisor is above zero. Most dividends fit in 64 bits:
/// to divide 128 bits takes several times as long.
#[must_use]
pub fn quotient(dividend: i128, divisor: i64) -> i64 {
    match i64::try_from(dividend) {
        Ok(short) => short / divisor,
        Err(_) => i64::try_from(dividend / i128::from(divisor)).unwrap_or(i64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_quotient_is_that_of_128_bits(
            dividend in prop_oneof![0..1_i128 << 64, 0..1_i128 << 100], divisor in 1..i64::MAX,
        ) {
            let expected = (dividend / i128::from(divisor)).min(i64::MAX.into());
            prop_assert_eq!(i128::from(quotient(dividend, divisor)), expected);
        }
    }

    #[test]
    fn a_rate_is_per_second() {
        assert_eq!(per_second(1000, 2_000_000), 500_000);
        assert_eq!(per_second(i64::MAX, 1), i64::MAX);
    }
}
