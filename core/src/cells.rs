//! # Cells
//! Columns of a table on its way out, as CSV or Parquet.

/// One column.
pub enum Cells<'a> {
    /// Whole numbers, and which are absent.
    Whole(&'a [i64], &'a [bool]),
    /// Numbers, and which are absent.
    Float(&'a [f64], &'a [bool]),
    /// Text by its place; negative where it is absent.
    Text(&'a [i64], &'a [String]),
}

impl Cells<'_> {
    /// How many cells it has.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Whole(values, absent) => values.len().min(absent.len()),
            Self::Float(values, absent) => values.len().min(absent.len()),
            Self::Text(places, _) => places.len(),
        }
    }

    /// The text of a row; none where it is absent, and in a column of numbers.
    pub(crate) fn text(&self, row: usize) -> Option<&str> {
        let Self::Text(places, texts) = self else {
            return None;
        };
        let place = usize::try_from(places[row]).ok()?;
        texts.get(place).map(String::as_str)
    }
}
