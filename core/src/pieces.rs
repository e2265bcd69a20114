//! # Pieces
//! The frames of one file of a capture, shared out by host pair: what several workers read of many files together.
//!
//! All that is told of a connection, and of others on its path, follows from the frames between two hosts. So a worker
//! that has these, of every file, finds what it would find in the whole capture.

use crate::capture::rows::{MAGIC, Rows};
use crate::decode::{Packet, extent};
use crate::intake::{Filters, Intake};
use crate::source::{Source, Stop, place};
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use zstd::bulk::Compressor;

/// Rows of one bucket.
#[derive(Default)]
struct Bucket {
    rows: Rows,
    /// Rows that are not compressed yet.
    fresh: Vec<u8>,
    /// Frames of zstd, one after the other.
    packed: Vec<u8>,
}

/// A file on its way into buckets.
pub struct Pieces {
    /// What was counted on the way.
    pub intake: Intake,
    /// Where the file stands among others of its capture, by the time of its first frame.
    pub place: i64,
    buckets: Vec<Bucket>,
    compressor: Compressor<'static>,
}

impl Pieces {
    /// Compressed together: so much that more would gain little, and little for a thousand buckets.
    const BLOCK_BYTES: usize = 1 << 16;
    /// The fastest: rows are read once.
    const LEVEL: i32 = 1;

    /// Opens a file that is shared out to so many buckets.
    ///
    /// # Errors
    /// The file cannot be read at all.
    pub fn new(path: PathBuf, filters: Option<Filters>, buckets: usize) -> Result<Self, Stop> {
        Ok(Self {
            place: place(path.clone())?,
            intake: Intake::new(vec![Source::Path(path)], filters, None)?,
            buckets: (0..buckets.max(1)).map(|_| Bucket::default()).collect(),
            compressor: Compressor::new(Self::LEVEL).map_err(unwritten)?,
        })
    }

    /// Reads up to `frames` frames; says whether there may be more.
    ///
    /// # Errors
    /// [`Stop`]; a file that breaks in the middle is no error.
    pub fn advance(&mut self, frames: usize) -> Result<bool, Stop> {
        let (buckets, compressor) = (&mut self.buckets, &mut self.compressor);
        let mut written = Ok(());
        let more = self.intake.read(frames, |packet, _, _, frame| {
            let count = buckets.len();
            let bucket = &mut buckets[bucket(hosts(packet), count)];
            let kept = extent(packet, frame.link_type, frame.data, frame.wire_len);
            bucket.rows.write(frame, kept, &mut bucket.fresh);
            if bucket.fresh.len() > Self::BLOCK_BYTES && written.is_ok() {
                written = bucket.pack(compressor);
            }
        })?;
        written.map_err(unwritten)?;
        Ok(more)
    }

    /// The rows of each bucket, compressed: none for an empty one.
    ///
    /// # Errors
    /// They cannot be compressed.
    pub fn take(&mut self) -> Result<Vec<Vec<u8>>, Stop> {
        let finished = self.buckets.iter_mut().map(|bucket| {
            bucket.pack(&mut self.compressor)?;
            Ok(std::mem::take(&mut bucket.packed))
        });
        finished.collect::<io::Result<_>>().map_err(unwritten)
    }
}

impl Bucket {
    fn pack(&mut self, compressor: &mut Compressor<'_>) -> io::Result<()> {
        if self.fresh.is_empty() {
            return Ok(());
        }
        if self.packed.is_empty() {
            self.fresh.splice(0..0, MAGIC);
        }
        self.packed.extend(compressor.compress(&self.fresh)?);
        self.fresh.clear();
        Ok(())
    }
}

fn unwritten(error: io::Error) -> Stop {
    Stop::Unreadable(format!("rows cannot be compressed: {error}"))
}

/// Between whom a packet went.
fn hosts(packet: &Packet<'_>) -> [IpAddr; 2] {
    let ends = match packet {
        Packet::Tcp(tcp) | Packet::Quoted(_, tcp) => tcp.ends(),
        Packet::Datagram(datagram) => [datagram.source, datagram.destination],
    };
    ends.map(|end| end.address)
}

/// Which of so many buckets is that of two hosts: whichever sent, and on any machine.
fn bucket([one, other]: [IpAddr; 2], buckets: usize) -> usize {
    // A sum is the same in either order.
    let sum = spread(one).wrapping_add(spread(other));
    ((u128::from(sum) * buckets as u128) >> 64) as usize
}

/// Spreads neighbouring addresses over all 64 bits (the finalizer of SplitMix64: Steele, Lea and Flood 2014).
fn spread(address: IpAddr) -> u64 {
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
    fn the_hash_is_that_of_the_paper_on_every_machine() {
        // The first numbers of SplitMix64 that begins with 0 and with 1, as the paper's Java and Vigna's C print them.
        let told = |bits| spread(Ipv4Addr::from_bits(bits).into());
        assert_eq!(told(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(told(1), 0x910a_2dec_8902_5cc1);
    }

    proptest! {
        #[test]
        fn both_ways_go_to_one_of_the_buckets(one: u128, other: u128, buckets in 1..2000_usize) {
            let [one, other] = [one, other].map(|bits| IpAddr::from(Ipv6Addr::from_bits(bits)));
            let number = bucket([one, other], buckets);
            prop_assert!(number < buckets);
            prop_assert_eq!(number, bucket([other, one], buckets));
        }
    }
}
