//! # Parquet
//! Writes columns to a Parquet file, one row group at a time, and copies row groups to another file.

use crate::cells::Cells;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use std::borrow::Cow;
use std::io::{self, Write};
use std::mem::take;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes written and not yet taken, shared with the Parquet writer.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn take(&self) -> Vec<u8> {
        take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        written.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A Parquet file in the making. Its bytes are returned in pieces as they are written.
pub struct File {
    writer: SerializedFileWriter<Written>,
    written: Written,
}

impl File {
    /// Begins a file whose columns have these names and the kinds of `columns`. Every column may have empty cells.
    ///
    /// # Errors
    /// If two columns have the same name.
    pub fn new(names: &[String], columns: &[Cells<'_>]) -> Result<Self> {
        // Numbers are close to the preceding ones and texts repeat, so the fastest level compresses nearly as well.
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_dictionary_enabled(false);
        let mut fields = Vec::new();
        for (name, cells) in names.iter().zip(columns) {
            let path = ColumnPath::from(name.as_str());
            let (physical, logical) = match cells {
                Cells::Whole(..) => {
                    let packed = Encoding::DELTA_BINARY_PACKED;
                    properties = properties.set_column_encoding(path, packed);
                    (Physical::INT64, None)
                }
                Cells::Float(..) => (Physical::DOUBLE, None),
                Cells::Text(..) => {
                    properties = properties.set_column_dictionary_enabled(path, true);
                    (Physical::BYTE_ARRAY, Some(LogicalType::String))
                }
            };
            let field = Type::primitive_type_builder(name, physical)
                .with_repetition(Repetition::OPTIONAL)
                .with_logical_type(logical);
            fields.push(Arc::new(field.build()?));
        }
        let schema = Type::group_type_builder("schema").with_fields(fields);
        let written = Written::default();
        let (schema, properties) = (Arc::new(schema.build()?), Arc::new(properties.build()));
        Ok(Self {
            writer: SerializedFileWriter::new(written.clone(), schema, properties)?,
            written,
        })
    }

    /// Adds a row group with as many rows as the shortest column has cells; returns the next bytes of the file.
    ///
    /// # Errors
    /// If a column's kind differs from that at the beginning of the file.
    pub fn rows(&mut self, columns: &[Cells<'_>]) -> Result<Vec<u8>> {
        let rows = columns.iter().map(Cells::len).min().unwrap_or_default();
        if rows > 0 {
            let mut group = self.writer.next_row_group()?;
            for column in columns {
                write(&mut group, column, rows)?;
            }
            group.close()?;
        }
        Ok(self.written.take())
    }

    /// Ends the file; returns its last bytes.
    ///
    /// # Errors
    /// None in practice, since writing to memory does not fail.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        self.writer.finish()?;
        Ok(self.written.take())
    }
}

/// Returns a file with some row groups of another, which are copied as they are.
///
/// # Errors
/// If `file` is not Parquet, or has no row group of such a number.
pub fn with_groups(file: Vec<u8>, groups: &[usize]) -> Result<Vec<u8>> {
    let file = Bytes::from(file);
    let reader = SerializedFileReader::new(file.clone())?;
    let about = reader.metadata();
    let schema = about.file_metadata().schema_descr().root_schema_ptr();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::default())?;
    for &number in groups {
        let Some(from) = about.row_groups().get(number) else {
            return Err(ParquetError::General(format!("no row group {number}")));
        };
        let mut to = writer.next_row_group()?;
        for column in from.columns() {
            let copied = ColumnCloseResult {
                bytes_written: column.compressed_size().unsigned_abs(),
                rows_written: from.num_rows().unsigned_abs(),
                metadata: column.clone(),
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            };
            to.append_column(&file, copied)?;
        }
        to.close()?;
    }
    writer.into_inner()
}

/// Returns the values that are not absent, and for each row Parquet's definition level: 1 for a value, 0 for none.
fn present<'a, T: Copy>(values: &'a [T], absent: &[bool], rows: usize) -> (Cow<'a, [T]>, Vec<i16>) {
    let (values, absent) = (&values[..rows], &absent[..rows]);
    let levels: Vec<i16> = absent.iter().map(|&absent| i16::from(!absent)).collect();
    if !absent.contains(&true) {
        return (Cow::Borrowed(values), levels);
    }
    let mut held = Vec::with_capacity(rows);
    let both = values.iter().zip(absent);
    held.extend(
        both.filter(|(_, absent)| !**absent)
            .map(|(&value, _)| value),
    );
    (Cow::Owned(held), levels)
}

fn write(
    group: &mut SerializedRowGroupWriter<'_, Written>,
    cells: &Cells<'_>,
    rows: usize,
) -> Result<()> {
    let Some(mut column) = group.next_column()? else {
        return Ok(());
    };
    match cells {
        Cells::Whole(values, absent) => {
            let (values, levels) = present(values, absent, rows);
            let writer = column.typed::<Int64Type>();
            writer.write_batch(&values, Some(&levels), None)?;
        }
        Cells::Float(values, absent) => {
            let (values, levels) = present(values, absent, rows);
            let writer = column.typed::<DoubleType>();
            writer.write_batch(&values, Some(&levels), None)?;
        }
        Cells::Text(places, texts) => {
            let texts: Vec<ByteArray> = texts.iter().map(|text| text.as_str().into()).collect();
            let known = |place: i64| usize::try_from(place).ok().and_then(|at| texts.get(at));
            let places = &places[..rows];
            let levels: Vec<i16> = places
                .iter()
                .map(|&place| i16::from(known(place).is_some()))
                .collect();
            let mut values = Vec::with_capacity(rows);
            values.extend(places.iter().filter_map(|&place| known(place).cloned()));
            let writer = column.typed::<ByteArrayType>();
            writer.write_batch(&values, Some(&levels), None)?;
        }
    }
    column.close()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(file: Vec<u8>) -> Vec<String> {
        let reader = SerializedFileReader::new(Bytes::from(file)).expect("a file");
        let rows = reader.get_row_iter(None).expect("rows");
        rows.map(|row| row.expect("a row").to_string()).collect()
    }

    #[test]
    fn every_cell_is_read_as_it_was_written() {
        let texts = ["a".to_owned(), "b".to_owned()];
        let columns = [
            Cells::Whole(&[i64::MIN, 7, i64::MAX], &[false, true, false]),
            Cells::Text(&[1, -1, 0], &texts),
            Cells::Float(&[0.5, 2.0, 1.0], &[false, false, true]),
        ];
        let names = ["whole", "text", "float"].map(str::to_owned);
        let mut file = File::new(&names, &columns).expect("names differ");
        let mut bytes = file.rows(&columns).expect("the same columns");
        bytes.extend(file.rows(&columns[..]).expect("the same columns"));
        bytes.extend(file.finish().expect("memory"));
        let once = [
            "{whole: -9223372036854775808, text: \"b\", float: 0.5}",
            "{whole: null, text: null, float: 2.0}",
            "{whole: 9223372036854775807, text: \"a\", float: null}",
        ];
        assert_eq!(rows(bytes), [once, once].concat());
    }

    #[test]
    fn row_groups_are_copied_as_they_are() {
        let texts = ["a".to_owned(), "b".to_owned()];
        let names = ["whole", "text"].map(str::to_owned);
        let group = |number: &'static [i64; 2]| {
            let places: &'static [i64; 2] = if number[0] == 2 { &[-1, -1] } else { &[1, 0] };
            [
                Cells::Whole(number, &[false; 2]),
                Cells::Text(places, &texts),
            ]
        };
        let groups = [&[0, 10], &[1, 11], &[2, 12]].map(group);
        let written = |numbers: &[usize]| {
            let mut file = File::new(&names, &groups[0]).expect("names differ");
            let mut bytes = Vec::new();
            for &number in numbers {
                bytes.extend(file.rows(&groups[number]).expect("the same columns"));
            }
            bytes.extend(file.finish().expect("memory"));
            bytes
        };
        let whole = written(&[0, 1, 2]);
        for numbers in [&[0, 1, 2][..], &[0, 2], &[2, 1], &[]] {
            let copied = with_groups(whole.clone(), numbers).expect("groups of the file");
            assert_eq!(rows(copied.clone()), rows(written(numbers)));
            let again: Vec<usize> = (0..numbers.len()).collect();
            assert_eq!(with_groups(copied.clone(), &again).ok(), Some(copied));
        }
        assert!(with_groups(whole.clone(), &[3]).is_err());
        assert!(with_groups(whole[..whole.len() - 1].to_vec(), &[0]).is_err());
        assert!(with_groups(Vec::new(), &[]).is_err());
    }
}
