//! # Null
//! The marker for numbers that may be missing.

/// Marks a missing integer in the rows handed to Python.
pub const NULL: i64 = i64::MIN;

/// Returns the number, or `None` where it is [`NULL`].
#[must_use]
pub fn known(number: i64) -> Option<i64> {
    (number != NULL).then_some(number)
}

/// Returns the smaller of `so_far` and `value`; [`NULL`] as `so_far` means that there was no value before.
#[must_use]
pub fn least(so_far: i64, value: i64) -> i64 {
    if so_far == NULL {
        value
    } else {
        so_far.min(value)
    }
}
