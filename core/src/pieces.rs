//! # Pieces
//! Splits the frames of one file of a capture into buckets by host pair, so that several workers can analyse a capture
//! of many files together.
//!
//! All results on a connection, and on other connections of its path, follow from the frames between two hosts. A
//! worker that gets these frames from every file therefore finds the same results as in the whole capture.

use crate::capture::rows::{MAGIC, Rows};
use crate::decode::{Packet, Quoted, extent};
use crate::intake::{Filters, Intake};
use crate::source::{Source, Stop, first_frame_ns};
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use zstd::bulk::Compressor;

/// The frames of one bucket, written as rows.
#[derive(Default)]
struct Bucket {
    rows: Rows,
    /// Rows not compressed yet.
    uncompressed: Vec<u8>,
    /// Compressed rows: a sequence of zstd frames.
    compressed: Vec<u8>,
}

/// Splits a file into buckets.
pub struct Pieces {
    /// Reader of the file, with counts of its frames.
    pub intake: Intake,
    /// Time of the file's first frame in ns since the epoch, by which the files of a capture are sorted; `i64::MAX` if
    /// unknown.
    pub first_frame_ns: i64,
    buckets: Vec<Bucket>,
    compressor: Compressor<'static>,
}

impl Pieces {
    /// Number of bytes compressed together. Larger blocks compress hardly better, and a thousand buckets fit in memory.
    const BLOCK_BYTES: usize = 1 << 16;
    /// The fastest level of zstd, since rows are read only once.
    const LEVEL: i32 = 1;

    /// Opens a file to be split into this number of buckets.
    ///
    /// # Errors
    /// If the file cannot be read at all.
    pub fn new(path: PathBuf, filters: Option<Filters>, buckets: usize) -> Result<Self, Stop> {
        Ok(Self {
            first_frame_ns: first_frame_ns(path.clone())?,
            intake: Intake::new(vec![Source::Path(path)], filters, None)?,
            buckets: (0..buckets.max(1)).map(|_| Bucket::default()).collect(),
            compressor: Compressor::new(Self::LEVEL).map_err(compression_error)?,
        })
    }

    /// Reads up to `frames` frames; returns whether more may follow.
    ///
    /// # Errors
    /// If the filter does not fit, or rows cannot be compressed. Damage in the middle of the file is no error.
    pub fn advance(&mut self, frames: usize) -> Result<bool, Stop> {
        let (buckets, compressor) = (&mut self.buckets, &mut self.compressor);
        let mut written = Ok(());
        let more = self.intake.read(frames, |packet, _, _, frame| {
            let count = buckets.len();
            let bucket = &mut buckets[bucket(hosts(packet), count)];
            let kept = extent(packet, frame.link_type, frame.data, frame.wire_len);
            bucket.rows.write(frame, kept, &mut bucket.uncompressed);
            if bucket.uncompressed.len() > Self::BLOCK_BYTES && written.is_ok() {
                written = bucket.compress(compressor);
            }
        })?;
        written.map_err(compression_error)?;
        Ok(more)
    }

    /// Takes the compressed rows of each bucket. An empty bucket gives no bytes.
    ///
    /// # Errors
    /// If rows cannot be compressed.
    pub fn take(&mut self) -> Result<Vec<Vec<u8>>, Stop> {
        let finished = self.buckets.iter_mut().map(|bucket| {
            bucket.compress(&mut self.compressor)?;
            Ok(std::mem::take(&mut bucket.compressed))
        });
        finished
            .collect::<io::Result<_>>()
            .map_err(compression_error)
    }
}

impl Bucket {
    fn compress(&mut self, compressor: &mut Compressor<'_>) -> io::Result<()> {
        if self.uncompressed.is_empty() {
            return Ok(());
        }
        if self.compressed.is_empty() {
            self.uncompressed.splice(0..0, MAGIC);
        }
        let block = compressor.compress(&self.uncompressed)?;
        self.compressed.extend(block);
        self.uncompressed.clear();
        Ok(())
    }
}

fn compression_error(error: io::Error) -> Stop {
    Stop::Unreadable(format!("rows cannot be compressed: {error}"))
}

/// Returns the addresses of a packet's source and destination.
fn hosts(packet: &Packet<'_>) -> [IpAddr; 2] {
    let ends = match packet {
        Packet::Tcp(tcp) | Packet::Quoted(Quoted { tcp, .. }) => tcp.ends(),
        Packet::Datagram(datagram) => [datagram.source, datagram.destination],
    };
    ends.map(|end| end.address)
}

/// Returns the number of the bucket for the packets between two hosts. It does not depend on the direction nor on the
/// machine.
fn bucket([one, other]: [IpAddr; 2], buckets: usize) -> usize {
    // A sum does not depend on the order of the two.
    let sum = hash(one).wrapping_add(hash(other));
    ((u128::from(sum) * buckets as u128) >> 64) as usize
}

/// Hashes an address to 64 bits (the finalizer of SplitMix64: Steele, Lea and Flood 2014).
fn hash(address: IpAddr) -> u64 {
    let mut bits = match address {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            (bits ^ bits >> 64) as u64
        }
    };
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn the_hash_is_splitmix64_of_the_paper() {
        // The first numbers of SplitMix64 for the seeds 0 and 1, as the paper's Java and Vigna's C print them.
        let hashed = |bits| hash(Ipv4Addr::from_bits(bits).into());
        assert_eq!(hashed(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(hashed(1), 0x910a_2dec_8902_5cc1);
    }

    proptest! {
        #[test]
        fn both_directions_go_to_the_same_bucket(one: u128, other: u128, buckets in 1..2000_usize) {
            let [one, other] = [one, other].map(|bits| IpAddr::from(Ipv6Addr::from_bits(bits)));
            let number = bucket([one, other], buckets);
            prop_assert!(number < buckets);
            prop_assert_eq!(number, bucket([other, one], buckets));
        }
    }
}
