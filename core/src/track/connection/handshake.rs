//! # Handshake
//! What the SYNs of a connection agreed on, and the round trip that they measured.

use crate::decode::{Flags, Options, Segment};

/// How the scale of a window is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScaleSource {
    /// Both SYNs carried the option.
    Negotiated,
    /// A SYN went without it, so no window is scaled (RFC 7323 section 2.2).
    Declined,
    /// The advertiser's SYN carried it, the other's is not known: taken to be in force.
    OneSided,
    /// The traffic showed it.
    Inferred,
    /// The advertiser's SYN was not captured, or cut before the option.
    Unknown,
}

impl ScaleSource {
    /// Values of `flows.window_scale_source`, by discriminant.
    pub const NAMES: [&'static str; 5] =
        ["negotiated", "declined", "one-sided", "inferred", "unknown"];
}

/// A SYN as it passed the tap.
#[derive(Debug, Clone, Copy)]
struct Sending {
    time_ns: i64,
    value: Option<u32>,
    echo: Option<u32>,
}

/// One end's SYN, and when it was sent.
#[derive(Debug)]
struct Syn {
    sequence: u32,
    window: u16,
    options: Options,
    sendings: Vec<Sending>,
}

impl Syn {
    /// More than any stack sends (Linux `tcp_syn_retries`: 6).
    const MOST_SENDINGS: usize = 16;

    /// The option, or its absence, as far as the capture holds the list.
    fn scale(&self) -> Option<Option<u8>> {
        match self.options.window_scale {
            None if self.options.incomplete => None,
            scale => Some(scale),
        }
    }

    /// When the one was sent that an answer echoes. Karn's rule (RFC 6298 section 3): of several only timestamps tell.
    fn answered_ns(&self, echo: Option<u32>) -> Option<i64> {
        if let [only] = self.sendings[..] {
            return Some(only.time_ns);
        }
        let mut answered = self
            .sendings
            .iter()
            .filter(|sending| echo.is_some() && sending.value == echo);
        let sending = answered.next()?;
        answered.next().is_none().then_some(sending.time_ns)
    }
}

/// The round trips from the tap, as a handshake measured them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// SYN to SYN-ACK.
    pub server_ns: i64,
    /// SYN-ACK to the ACK that completes the handshake.
    pub client_ns: i64,
}

/// The handshake of a connection, client's part first.
#[derive(Debug, Default)]
pub struct Handshake {
    syns: [Option<Syn>; 2],
    completed: bool,
}

impl Handshake {
    /// RFC 7323 section 2.3: a shift above 14 is taken as 14.
    pub const MOST_SHIFT: u8 = 14;

    /// `from` sends a SYN.
    pub fn syn(&mut self, from: usize, segment: &Segment, time_ns: i64) {
        let timestamps = segment.options.timestamps;
        let sending = Sending {
            time_ns,
            value: timestamps.map(|(value, _)| value),
            echo: timestamps.map(|(_, echo)| echo),
        };
        match &mut self.syns[from] {
            Some(syn) if syn.sequence == segment.sequence => {
                // The last tries may go without options, for the sake of middleboxes: an answer with a scale is one to
                // a SYN that had it (RFC 7323 section 2.2).
                if segment.options.window_scale.is_some() {
                    syn.options = segment.options;
                }
                if syn.sendings.len() < Syn::MOST_SENDINGS {
                    syn.sendings.push(sending);
                }
            }
            syn => {
                *syn = Some(Syn {
                    sequence: segment.sequence,
                    window: segment.window,
                    options: segment.options,
                    sendings: vec![sending],
                });
            }
        }
    }

    /// The client sends something else: the round trips, if it is the ACK that completes the handshake and nothing else.
    pub fn complete(&mut self, segment: &Segment, time_ns: i64) -> Option<Measured> {
        let flags = segment.flags;
        if flags.has(Flags::SYN) || flags.has(Flags::RST) || !flags.has(Flags::ACK) {
            return None;
        }
        if std::mem::replace(&mut self.completed, true) {
            return None;
        }
        let [question, answer] = &self.syns;
        let (question, answer) = (question.as_ref()?, answer.as_ref()?);
        // Data, or the end of it, come when the application likes: the capture lost the ACK before.
        let next = answer.sequence.wrapping_add(1);
        if segment.payload_bytes > 0 || flags.has(Flags::FIN) || segment.acknowledgment != next {
            return None;
        }
        let first = answer.sendings.first()?;
        let server_ns = first.time_ns - question.answered_ns(first.echo)?;
        let echo = segment.options.timestamps.map(|(_, echo)| echo);
        let client_ns = time_ns - answer.answered_ns(echo)?;
        // Negative after a simultaneous open, and where the clock ran backwards.
        (server_ns >= 0 && client_ns >= 0).then_some(Measured {
            server_ns,
            client_ns,
        })
    }

    /// Did the client answer, or speak?
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.completed
    }

    /// The shift of windows that `end` advertises, and how it is known (RFC 7323 section 2.2: in force only if both
    /// SYNs carry the option; 0 is a value).
    #[must_use]
    pub fn scale(&self, end: usize) -> (Option<u8>, ScaleSource) {
        let [own, other] = [end, 1 - end].map(|e| self.syns[e].as_ref().and_then(Syn::scale));
        match (own, other) {
            (Some(None), _) | (_, Some(None)) => (Some(0), ScaleSource::Declined),
            (Some(Some(shift)), Some(Some(_))) => {
                (Some(shift.min(Self::MOST_SHIFT)), ScaleSource::Negotiated)
            }
            (Some(Some(shift)), None) => (Some(shift.min(Self::MOST_SHIFT)), ScaleSource::OneSided),
            (None, _) => (None, ScaleSource::Unknown),
        }
    }

    /// Largest payload of a packet: the smaller MSS of both SYNs (either may sit on the narrower link), less the
    /// timestamp option if agreed (RFC 6691). `stamped` says whether segments carry it, where a SYN was cut.
    #[must_use]
    pub fn mss(&self, stamped: bool) -> Option<i64> {
        let mss = self.options().filter_map(|options| options.mss).min()?;
        let stamped = self
            .options()
            .all(|options| options.timestamps.is_some() || options.incomplete && stamped);
        (mss > 0).then(|| (i64::from(mss) - if stamped { 12 } else { 0 }).max(1))
    }

    /// Did both ends agree to be part of a multipath connection (RFC 8684)? Its subflows share their windows.
    #[must_use]
    pub fn is_multipath(&self) -> bool {
        self.syns.iter().all(Option::is_some) && self.options().all(|options| options.multipath)
    }

    /// The window in `end`'s SYN, in bytes: never scaled (RFC 7323 section 2.2).
    #[must_use]
    pub fn window(&self, end: usize) -> Option<u16> {
        self.syns[end].as_ref().map(|syn| syn.window)
    }

    /// Can the ends use SACK: does no SYN lack the option (RFC 2018 section 2)?
    #[must_use]
    pub fn allows_sack(&self) -> bool {
        self.options()
            .all(|options| options.sack_permitted || options.incomplete)
    }

    /// Was `end`'s SYN captured?
    #[must_use]
    pub fn has_syn(&self, end: usize) -> bool {
        self.syns[end].is_some()
    }

    fn options(&self) -> impl Iterator<Item = &Options> {
        self.syns.iter().flatten().map(|syn| &syn.options)
    }
}
