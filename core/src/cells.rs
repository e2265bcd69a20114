//! # Cells
//! Columns of a table to be written as CSV or Parquet.

/// One column.
pub enum Cells<'a> {
    /// Integers, and a mask that is true where a cell is empty.
    Whole(&'a [i64], &'a [bool]),
    /// Floating-point numbers, and a mask that is true where a cell is empty.
    Float(&'a [f64], &'a [bool]),
    /// Indices into a list of texts; an index is negative where a cell is empty.
    Text(&'a [i64], &'a [String]),
}

impl Cells<'_> {
    /// Returns the number of cells.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Whole(values, absent) => values.len().min(absent.len()),
            Self::Float(values, absent) => values.len().min(absent.len()),
            Self::Text(places, _) => places.len(),
        }
    }

    /// Returns the text of a row; `None` for an empty cell and for a column of numbers.
    pub(crate) fn text(&self, row: usize) -> Option<&str> {
        let Self::Text(places, texts) = self else {
            return None;
        };
        let place = usize::try_from(places[row]).ok()?;
        texts.get(place).map(String::as_str)
    }
}
