//! # Option list
//! Kinds of TCP options, and the steps from one option to the next (RFC 9293 section 3.2).

/// Option kinds (IANA "TCP Option Kind Numbers").
pub(super) mod kind {
    pub const END: u8 = 0;
    pub const NO_OPERATION: u8 = 1;
    pub const MSS: u8 = 2;
    pub const WINDOW_SCALE: u8 = 3;
    pub const SACK_PERMITTED: u8 = 4;
    pub const SACK: u8 = 5;
    pub const TIMESTAMPS: u8 = 8;
    pub const MULTIPATH: u8 = 30;
    pub const FAST_OPEN: u8 = 34;
    pub const EXPERIMENT: u8 = 254;
}

/// Splits the bytes after an option's kind into the option's value and the rest of the list. The option's length
/// includes the bytes of kind and length. `None` if the length does not fit the list.
pub(super) fn split_value(tail: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, tail) = tail.split_first()?;
    tail.split_at_checked(usize::from(*len).checked_sub(2)?)
}
