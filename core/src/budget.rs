//! # Budget
//! Upper bounds on the memory and work of one run. Data beyond a bound are left out and counted.

/// The bounds of a run; the fields are named as in `bdpcap.Limits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Maximum number of connections followed, and of UDP flows. Since batches are in flight, up to some 37,000 more
    /// connections may begin before the bound takes effect. Those beyond it are ignored; only their packets are counted.
    pub connections: usize,
    /// Maximum number of turns kept in total, and of rounds kept for each flow. Later ones are left out.
    pub rows: usize,
    /// Maximum number of ranges in each range set of a flow, such as its SACK scoreboard. Beyond it the two lowest
    /// ranges are merged.
    pub ranges: usize,
    /// Maximum number of headers decoded in one frame. An overlay within an overlay with tags and labels needs about
    /// 20.
    pub headers: usize,
    /// Maximum ratio of uncompressed to compressed bytes of a capture. gzip cannot exceed 1,032, but a few kilobytes of
    /// zstd may expand to terabytes of zeros, which would take days to read. A capture of 64 KiB frames whose payload
    /// is all zeros reaches 3,400.
    pub ratio: usize,
}

impl Budget {
    /// The default bounds.
    pub const DEFAULT: Self = Self {
        connections: 10_000_000,
        rows: 10_000_000,
        ranges: 1024,
        headers: 32,
        ratio: 10_000,
    };

    /// Returns each bound with its name.
    pub fn named(&mut self) -> [(&'static str, &mut usize); 5] {
        [
            ("connections", &mut self.connections),
            ("rows", &mut self.rows),
            ("ranges", &mut self.ranges),
            ("headers", &mut self.headers),
            ("ratio", &mut self.ratio),
        ]
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Counts of data left out because a bound was reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Number of segments of connections that were not followed.
    pub segments: u64,
    /// Number of turns that were not kept.
    pub turns: u64,
}

impl std::ops::AddAssign for LeftOut {
    fn add_assign(&mut self, more: Self) {
        self.segments += more.segments;
        self.turns += more.turns;
    }
}
