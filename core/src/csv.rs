//! # CSV
//! Writes columns as comma-separated values, with numbers as Python writes them.

use crate::cells::Cells;
use std::io::Write;

fn cell(cells: &Cells<'_>, row: usize, out: &mut Vec<u8>) -> std::io::Result<()> {
    match cells {
        Cells::Whole(_, absent) | Cells::Float(_, absent) if absent[row] => Ok(()),
        Cells::Whole(values, _) => {
            whole(values[row], out);
            Ok(())
        }
        Cells::Float(values, _) => float(values[row], out),
        Cells::Text(..) => out.write_all(cells.text(row).map_or(&[], str::as_bytes)),
    }
}

/// Writes an integer in decimal. Most cells are integers, and `write!` would take several times as long.
fn whole(value: i64, out: &mut Vec<u8>) {
    const MAX_CHARS: usize = 20;
    let mut digits = [b'0'; MAX_CHARS];
    let (mut left, mut at) = (value.unsigned_abs(), MAX_CHARS);
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    if value < 0 {
        at -= 1;
        digits[at] = b'-';
    }
    out.extend_from_slice(&digits[at..]);
}

/// Writes the shortest decimal number that is parsed as this float again, in the format of Python's `repr`.
fn float(value: f64, out: &mut Vec<u8>) -> std::io::Result<()> {
    /// Floats without a fraction below this bound are written as 64-bit integers.
    const EXACT: f64 = 1e15;
    let size = value.abs();
    if size < EXACT && value.trunc() == value && (value != 0.0 || value.is_sign_positive()) {
        whole(value as i64, out);
        out.extend(b".0");
        return Ok(());
    }
    if !value.is_finite() || size == 0.0 || (1e-4..1e16).contains(&size) {
        return write!(out, "{value:?}");
    }
    let text = format!("{value:e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    match power.strip_prefix('-') {
        Some(power) => write!(out, "{digits}e-{power:0>2}"),
        None => write!(out, "{digits}e+{power:0>2}"),
    }
}

/// Returns whether a text needs neither quotes nor escapes. Such a text has only letters, digits and marks that are not
/// special to CSV, spreadsheets or terminals.
#[must_use]
pub fn is_plain(text: &str) -> bool {
    let first = |byte: u8| byte.is_ascii_alphanumeric() || b"_:[".contains(&byte);
    let mut bytes = text.bytes();
    bytes.next().is_some_and(first) && bytes.all(|byte| first(byte) || b".] -".contains(&byte))
}

/// Returns the lines of a table, one for each cell of its shortest column.
///
/// # Errors
/// None in practice, since writing to memory does not fail.
pub fn lines(columns: &[Cells<'_>]) -> std::io::Result<Vec<u8>> {
    let rows = columns.iter().map(Cells::len).min().unwrap_or_default();
    let mut out = Vec::new();
    for row in 0..rows {
        let begin = out.len();
        for (at, column) in columns.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            cell(column, row, &mut out)?;
        }
        if out.len() == begin {
            out.extend(b"\"\""); // readers of CSV skip empty lines
        }
        out.push(b'\n');
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_value_is_an_empty_cell() {
        let names = ["a".to_owned(), "\"b,c\"".to_owned()];
        let columns = [
            Cells::Whole(&[-5, 7, 0], &[false, true, false]),
            Cells::Text(&[1, -1, 0], &names),
            Cells::Float(&[0.5, 2.0, 1.0], &[false, false, true]),
        ];
        let lines = lines(&columns).expect("memory");
        assert_eq!(lines, b"-5,\"b,c\",0.5\n,,2.0\n0,a,\n");
    }

    #[test]
    fn names_and_addresses_are_plain_and_formulas_are_not() {
        for text in ["192.0.2.1:80", "[2001:db8::1]:80", "slow reader", "x"] {
            assert!(is_plain(text), "{text}");
        }
        for text in [
            "",
            "=1+1",
            "-1",
            "a,b",
            "a\"b",
            "a\nb",
            "\u{202e}x",
            "caf\u{e9}",
        ] {
            assert!(!is_plain(text), "{text}");
        }
    }

    #[test]
    fn whole_numbers_of_any_size_are_written_in_full() {
        for value in [i64::MIN, -10, 0, 9, 10, i64::MAX] {
            let mut out = Vec::new();
            whole(value, &mut out);
            assert_eq!(out, value.to_string().into_bytes());
        }
    }

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        // The text is Python 3.11's repr() of the number.
        for (written, value) in [
            ("0.0", 0.0),
            ("-0.0", -0.0),
            ("-2.0", -2.0),
            ("999999999999999.0", 999_999_999_999_999.0),
            ("1000000000000000.0", 1e15),
            ("0.1", 0.1),
            ("259110.77618688773", 259_110.776_186_887_73),
            ("0.0001", 1e-4),
            ("1e-05", 1e-5),
            ("1.5e-07", 1.5e-7),
            ("9999999999999998.0", 9_999_999_999_999_998.0),
            ("1e+16", 1e16),
            ("-1.25e+100", -1.25e100),
            ("inf", f64::INFINITY),
        ] {
            let mut out = Vec::new();
            float(value, &mut out).expect("memory");
            assert_eq!(out, written.as_bytes());
        }
    }
}
