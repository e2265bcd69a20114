//! # Budget
//! What one run may take. Beyond a limit something is left out, and that is counted.

/// The limits of a run; their names are those of `bdpcap.Limits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Connections that are followed; some 37,000 more may begin until that is noticed. Of others nothing is told.
    pub connections: usize,
    /// Turns that are kept, and rounds of each flow: the first ones.
    pub rows: usize,
    /// Ranges in each set of a flow, as its SACK scoreboard: the lowest two become one.
    pub ranges: usize,
    /// Headers around a segment: an overlay on an overlay with tags and labels takes about 20.
    pub headers: usize,
    /// How often the bytes of a packed capture may be multiplied. gzip cannot reach it (1,032 is its most), but a few
    /// kilobytes of zstd may mean terabytes of zeros, which would take days to read. Frames of 64 KiB whose payload is
    /// all zeros reach 3,400.
    pub ratio: usize,
}

impl Budget {
    /// Those of a run that is told no others.
    pub const DEFAULT: Self = Self {
        connections: 10_000_000,
        rows: 10_000_000,
        ranges: 1024,
        headers: 32,
        ratio: 10_000,
    };

    /// Each by its name.
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

/// What was left out because of a limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Segments of connections that were not followed.
    pub segments: u64,
    /// Turns that were not kept.
    pub turns: u64,
}

impl std::ops::AddAssign for LeftOut {
    fn add_assign(&mut self, more: Self) {
        self.segments += more.segments;
        self.turns += more.turns;
    }
}
