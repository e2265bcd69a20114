//! # Row
//! Structs of numbers that are declared once; the columns of a table are generated from the declaration.

pub(super) mod packed;

/// Visits the fields of a row in their order; each method gets a field's name and a function that reads the field.
pub trait FieldVisitor<R> {
    /// Visits a field of one byte.
    fn u8(&mut self, name: &'static str, of: impl Fn(&R) -> u8);
    /// Visits a field of 32 bits: the number of a stream or of a round.
    fn u32(&mut self, name: &'static str, of: impl Fn(&R) -> u32);
    /// Visits a field of 64 bits without a sign: a frame number.
    fn u64(&mut self, name: &'static str, of: impl Fn(&R) -> u64);
    /// Visits any other field; [`super::NULL`] marks an absent value.
    fn i64(&mut self, name: &'static str, of: impl Fn(&R) -> i64);
}

/// A struct whose fields are all numbers.
pub trait Row: Sized {
    /// Passes every field to `visitor`.
    fn visit_fields(visitor: &mut impl FieldVisitor<Self>);
}

/// Declares a [`Row`]. A field that is an enumeration names, after `as`, the integer type of its column.
macro_rules! row {
    (@ $visitor:ident $field:ident $kind:ident) => {
        $visitor.$kind(stringify!($field), |row: &Self| row.$field)
    };
    (@ $visitor:ident $field:ident $kind:ident $number:ident) => {
        $visitor.$number(stringify!($field), |row: &Self| row.$field as $number)
    };
    (
        $(#[$about:meta])*
        $seen:vis struct $name:ident {
            $($(#[$means:meta])* $field_seen:vis $field:ident: $kind:ident $(as $number:ident)?,)*
        }
    ) => {
        $(#[$about])*
        $seen struct $name { $($(#[$means])* $field_seen $field: $kind,)* }

        impl $crate::track::row::Row for $name {
            fn visit_fields(visitor: &mut impl $crate::track::row::FieldVisitor<Self>) {
                $($crate::track::row::row!(@ visitor $field $kind $($number)?);)*
            }
        }
    };
}

pub(crate) use row;
