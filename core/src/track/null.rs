//! # Null
//! Numbers that may be missing.

/// Missing integers in rows handed to Python.
pub const NULL: i64 = i64::MIN;

/// A number that may be [`NULL`].
#[must_use]
pub fn known(number: i64) -> Option<i64> {
    (number != NULL).then_some(number)
}

/// The lesser of a least so far, [`NULL`] where there is none, and another value.
#[must_use]
pub fn least(so_far: i64, value: i64) -> i64 {
    if so_far == NULL {
        value
    } else {
        so_far.min(value)
    }
}
