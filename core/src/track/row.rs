//! # Row
//! Structs of numbers, declared once: the columns of a table follow from the declaration.

pub(super) mod packed;

/// Looks at the fields of a row, in their order: the name of each, and how it is read.
pub trait Fields<R> {
    /// A field of one byte.
    fn u8(&mut self, name: &'static str, of: impl Fn(&R) -> u8);
    /// A number of a stream or round.
    fn u32(&mut self, name: &'static str, of: impl Fn(&R) -> u32);
    /// A frame number.
    fn u64(&mut self, name: &'static str, of: impl Fn(&R) -> u64);
    /// Any other number, [`super::NULL`] where it is absent.
    fn i64(&mut self, name: &'static str, of: impl Fn(&R) -> i64);
}

/// A struct of numbers.
pub trait Row: Sized {
    /// Shows its fields.
    fn show(to: &mut impl Fields<Self>);
}

/// Declares a [`Row`]. An enumeration among the fields says as which number it counts.
macro_rules! row {
    (@ $to:ident $field:ident $kind:ident) => {
        $to.$kind(stringify!($field), |row: &Self| row.$field)
    };
    (@ $to:ident $field:ident $kind:ident $number:ident) => {
        $to.$number(stringify!($field), |row: &Self| row.$field as $number)
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
            fn show(to: &mut impl $crate::track::row::Fields<Self>) {
                $($crate::track::row::row!(@ to $field $kind $($number)?);)*
            }
        }
    };
}

pub(crate) use row;
