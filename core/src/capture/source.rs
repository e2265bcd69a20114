//! # Source
//! The uncompressed bytes of a capture, and a count of its compressed bytes.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;
use lz4_flex::frame::FrameDecoder;

use super::ahead::ReadAhead;
use crate::budget::Budget;

/// Size of the buffer before a decompressor. Larger reads of an uncompressed capture bypass the buffer.
const BUFFER_BYTES: usize = 1 << 16;

/// The compression ratio is checked only after this number of uncompressed bytes, which take about a second.
const UNCHECKED_BYTES: u64 = 256 << 20;

/// Reader of uncompressed bytes. A file of several compressed members or frames is read as one stream.
pub(super) struct Source {
    bytes: Box<dyn Read + Send>,
    raw: Arc<AtomicU64>,
    uncompressed: u64,
    /// Maximum ratio of uncompressed to compressed bytes; see [`Budget::ratio`].
    pub max_ratio: usize,
    /// "gzip", "zstd" or "lz4"; `None` if the input is not compressed.
    pub compression: Option<&'static str>,
}

impl Source {
    /// Opens the input; the compression is detected from the first bytes, not from the file name.
    pub fn open(input: Box<dyn Read + Send>) -> io::Result<Self> {
        let raw = Arc::new(AtomicU64::new(0));
        let mut input = BufReader::with_capacity(
            BUFFER_BYTES,
            CountingReader {
                input,
                count: Arc::clone(&raw),
            },
        );
        let mut magic = Vec::with_capacity(4);
        loop {
            magic.clear();
            (&mut input).take(4).read_to_end(&mut magic)?;
            // A skippable frame (RFC 8878 section 3.1.2) is the same in zstd and lz4; the next frame shows which it is.
            let [0x50..=0x5f, 0x2a, 0x4d, 0x18] = magic[..] else {
                break;
            };
            let mut length = [0; 4];
            input.read_exact(&mut length)?;
            skip(&mut input, u32::from_le_bytes(length))?;
        }
        let kind = <[u8; 4]>::try_from(&magic[..]).unwrap_or_default();
        let input = Cursor::new(magic).chain(input);
        let (compression, bytes): (_, Box<dyn Read + Send>) = match kind {
            [0x1f, 0x8b, _, _] => (Some("gzip"), Box::new(MultiGzDecoder::new(input))),
            [0x28, 0xb5, 0x2f, 0xfd] => (
                Some("zstd"),
                Box::new(zstd::stream::read::Decoder::with_buffer(input)?),
            ),
            [0x04, 0x22, 0x4d, 0x18] => (Some("lz4"), Box::new(Lz4::new(input))),
            _ => (None, Box::new(input)),
        };
        Ok(Source {
            bytes,
            raw,
            uncompressed: 0,
            max_ratio: Budget::DEFAULT.ratio,
            compression,
        })
    }

    /// Moves decompression to a separate thread. Uncompressed input is still read in the calling thread.
    pub fn with_read_ahead(self) -> io::Result<Self> {
        let bytes = match self.compression {
            Some(_) => Box::new(ReadAhead::new(self.bytes)?),
            None => self.bytes,
        };
        Ok(Self { bytes, ..self })
    }

    /// Returns the number of bytes read from the input so far; compressed input counts its compressed bytes. Some of
    /// them may still be in a buffer.
    pub fn raw_bytes(&self) -> u64 {
        self.raw.load(Ordering::Relaxed)
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.compression.is_some()
            && self.uncompressed >= UNCHECKED_BYTES
            && self.uncompressed / self.max_ratio.max(1) as u64 >= self.raw_bytes()
        {
            return Err(io::Error::other(format!(
                "{} bytes were unpacked to more than {} times as many, as no capture is (the limit ratio)",
                self.raw_bytes(),
                self.max_ratio
            )));
        }
        let read = self.bytes.read(buffer)?;
        self.uncompressed += read as u64;
        Ok(read)
    }
}

/// A reader that counts the bytes it reads.
struct CountingReader {
    input: Box<dyn Read + Send>,
    count: Arc<AtomicU64>,
}

impl Read for CountingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Reads and discards `bytes` bytes.
fn skip(input: &mut impl Read, bytes: u32) -> io::Result<()> {
    let skipped = io::copy(&mut input.take(u64::from(bytes)), &mut io::sink())?;
    if skipped < u64::from(bytes) {
        Err(io::ErrorKind::UnexpectedEof.into())
    } else {
        Ok(())
    }
}

/// Reader of a sequence of lz4 frames.
///
/// `FrameDecoder` returns `Ok(0)` after each frame, and also if the input ends inside one. Only the position in the input
/// distinguishes the two. Each frame has a new decoder: one that is used again expects blocks of the same size.
struct Lz4<R: Read> {
    /// `None` only while the decoder of the next frame is made.
    decoder: Option<FrameDecoder<Positioned<R>>>,
    /// Position at which the last complete frame ended.
    frame_end: u64,
}

/// A reader that counts its position, and remembers whether its input has ended.
struct Positioned<R> {
    input: R,
    position: u64,
    ended: bool,
}

impl<R: BufRead> Lz4<R> {
    fn new(input: R) -> Self {
        let input = Positioned {
            input,
            position: 0,
            ended: false,
        };
        Lz4 {
            decoder: Some(FrameDecoder::new(input)),
            frame_end: 0,
        }
    }
}

impl<R: BufRead> Read for Lz4<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while let Some(mut decoder) = self.decoder.take() {
            let read = decoder.read(buffer);
            let Some(skippable) = after_frame(&read) else {
                self.decoder = Some(decoder);
                return read;
            };
            let mut input = decoder.into_inner();
            if input.ended && skippable == 0 {
                return match input.position == self.frame_end {
                    true => Ok(0),
                    false => Err(io::ErrorKind::UnexpectedEof.into()),
                };
            }
            skip(&mut input, skippable)?;
            self.frame_end = input.position;
            self.decoder = Some(FrameDecoder::new(input));
        }
        Ok(0)
    }
}

/// Returns the length of the skippable frame at which the decoder stopped, 0 at the end of a frame; `None` if the
/// decoder goes on or failed.
fn after_frame(read: &io::Result<usize>) -> Option<u32> {
    match read {
        Ok(0) => Some(0),
        Ok(_) => None,
        Err(error) => match error.get_ref()?.downcast_ref()? {
            lz4_flex::frame::Error::SkippableFrame(length) => Some(*length),
            _ => None,
        },
    }
}

impl<R: Read> Read for Positioned<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.position += read as u64;
        self.ended |= read == 0 && !buffer.is_empty();
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Cursor, Read, Write};

    use super::super::testing::{file, little, read};

    /// Returns a capture in two halves, so that each can be compressed separately.
    fn halves() -> [Vec<u8>; 2] {
        let record = little(&[1, 2, 600, 600], &[7; 600]);
        let bytes = [file(0xa1b2_c3d4, (2, 4), 1), record.repeat(20)].concat();
        [bytes[..5000].to_vec(), bytes[5000..].to_vec()]
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).expect("no error");
        encoder.finish().expect("no error")
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::stream::encode_all(bytes, 1).expect("no error")
    }

    fn lz4(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        encoder.write_all(bytes).expect("no error");
        encoder.finish().expect("no error")
    }

    type Compress = fn(&[u8]) -> Vec<u8>;
    const COMPRESSORS: [(&str, Compress); 3] = [("gzip", gzip), ("zstd", zstd), ("lz4", lz4)];
    const SKIPPABLE: &[u8] = b"\x5a\x2a\x4d\x18\x03\0\0\0abc";

    #[test]
    fn compression_is_detected_from_the_first_bytes_and_parts_are_joined() {
        let [first, second] = halves();
        for (name, compress) in COMPRESSORS {
            let packed = [compress(&first), compress(&second)].concat();
            let contents = read(&packed);
            assert_eq!(
                (contents.frames.len(), contents.damage),
                (20, None),
                "{name}"
            );
            assert_eq!(contents.info.compression, Some(name));
            assert_eq!(contents.bytes_read, packed.len() as u64, "{name}");
        }
    }

    #[test]
    fn lz4_frames_may_differ_in_the_size_of_their_blocks() {
        use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};

        let frame = |size, mode, bytes: &[u8]| {
            let info = FrameInfo::new().block_size(size).block_mode(mode);
            let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
            encoder.write_all(bytes).expect("no error");
            encoder.finish().expect("no error")
        };
        let [first, second] = halves();
        for mode in [BlockMode::Independent, BlockMode::Linked] {
            let packed = [
                frame(BlockSize::Max256KB, mode, &first),
                frame(BlockSize::Max64KB, mode, &second),
            ];
            let contents = read(&packed.concat());
            assert_eq!((contents.frames.len(), contents.damage), (20, None));
        }
    }

    #[test]
    fn skippable_frames_are_skipped() {
        let [first, second] = halves();
        for (name, compress) in &COMPRESSORS[1..] {
            let packed = [
                SKIPPABLE,
                &compress(&first),
                SKIPPABLE,
                &compress(&second),
                SKIPPABLE,
            ]
            .concat();
            let contents = read(&packed);
            assert_eq!(
                (contents.frames.len(), contents.damage),
                (20, None),
                "{name}"
            );
        }
    }

    #[test]
    fn a_cut_at_any_compressed_byte_is_damage() {
        let bytes = halves().concat();
        let whole = read(&bytes);
        for (name, compress) in COMPRESSORS {
            let packed = compress(&bytes);
            for end in 1..packed.len() {
                let contents = read(&packed[..end]);
                assert!(
                    contents.damage.is_some(),
                    "{name} cut at byte {end} of {}",
                    packed.len()
                );
                assert_eq!(
                    contents.frames,
                    whole.frames[..contents.frames.len()],
                    "{name} {end}"
                );
            }
        }
    }

    #[test]
    fn frames_before_the_damage_are_read() {
        let [first, second] = halves();
        for (name, compress) in COMPRESSORS {
            let second = compress(&second);
            let packed = [compress(&first), second[..second.len() / 2].to_vec()].concat();
            let contents = read(&packed);
            // The file header has 24 bytes, each record 616.
            assert!(contents.frames.len() >= (first.len() - 24) / 616, "{name}");
            assert_eq!(
                contents
                    .damage
                    .expect("an error")
                    .to_string()
                    .rsplit(": ")
                    .next(),
                Some("the compressed data is cut short"),
                "{name}"
            );
        }
    }

    #[test]
    fn a_decompression_bomb_is_refused() {
        let input = std::io::repeat(0).take(super::UNCHECKED_BYTES + (64 << 20));
        let bomb = zstd::stream::encode_all(input, 1).expect("no error");
        assert!(bomb.len() < 1 << 16);
        let mut source = super::Source::open(Box::new(Cursor::new(bomb))).expect("no error");
        let error = io::copy(&mut source, &mut io::sink()).expect_err("too much");
        assert!(error.to_string().contains("as no capture is"), "{error}");
    }

    #[test]
    fn input_that_is_no_capture_is_reported_in_one_line() {
        assert_eq!(
            read(b"").damage.expect("an error").to_string(),
            "test: the file is empty"
        );
        let message = read(b"\x01hello").damage.expect("an error").to_string();
        assert!(
            message.starts_with("test: not a packet capture: it begins with 01 68 65 6c"),
            "{message}"
        );
        let message = read(&gzip(b"hello")).damage.expect("an error").to_string();
        assert!(
            message.starts_with("test: not a packet capture: it begins with the text \"hell\""),
            "{message}"
        );
    }
}
