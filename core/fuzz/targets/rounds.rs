//! Follows an arbitrary sequence of segments of one connection. The input is a list of segments, each with the time
//! since the preceding one, which may be negative.

#![no_main]

use bdpcap_core::budget::Budget;
use bdpcap_core::decode::{self, Packet, Path};
use bdpcap_core::track::{At, ConnectionHasher, InferredScales, Provenance, Table, WantedEvents};
use libfuzzer_sys::fuzz_target;

/// LINKTYPE_RAW: a frame is an IP packet.
const RAW: u32 = 101;
const HEADERS: usize = Budget::DEFAULT.headers;
/// Maximum time, to which the intake also clamps times.
const FURTHEST_NS: i64 = 1 << 62;
/// Number of shifts for time differences, which range from nanoseconds to decades.
const SHIFTS: u32 = 30;

/// One segment: direction and shift of the time difference; TCP flags; time difference; sequence number and
/// acknowledgment number in units of 100 bytes; window; payload bytes; options.
type Step<'a> = (u8, u8, i32, i16, i16, u16, u16, &'a [u8]);

fuzz_target!(|steps: Vec<Step<'_>>| {
    let mut table = Table::new(
        WantedEvents::All,
        InferredScales::default(),
        Budget::DEFAULT,
    );
    let hashes = ConnectionHasher::default();
    let mut time_ns = 1i64 << 60;
    for (number, &(bits, flags, wait, seq, ack, window, bytes, options)) in steps.iter().enumerate()
    {
        let shift = u32::from(bits >> 1) % SHIFTS;
        time_ns = (time_ns + (i64::from(wait) << shift)).clamp(0, FURTHEST_NS);
        let options = &options[..options.len().min(40) / 4 * 4];
        let frame = packet(bits & 1, flags, seq, ack, window, bytes, options);
        let wire_len = frame.len() as u32 + u32::from(bytes);
        let mut path = Path::default();
        if let Ok(Packet::Tcp(tcp)) = decode::decode(RAW, &frame, wire_len, HEADERS, &mut path) {
            let at = At {
                time_ns,
                frame: number as u64 + 1,
            };
            let segment = tcp.segment();
            let hash = hashes.hash([segment.source, segment.destination]);
            table.take(Provenance::Captured, hash as u32, &segment, &path, at);
        }
    }
    table.finish();
    for stream in 0..table.len() {
        for round in (0..2).flat_map(|from| table.rounds(stream, from)) {
            assert!(round.start_ns <= round.end_ns, "{round:?}");
        }
    }
});

/// Returns an IPv4 packet whose payload was not captured.
fn packet(
    direction: u8,
    flags: u8,
    seq: i16,
    ack: i16,
    window: u16,
    bytes: u16,
    options: &[u8],
) -> Vec<u8> {
    let total = (40 + options.len() as u16).saturating_add(bytes);
    let mut out = vec![0x45, 0];
    out.extend(total.to_be_bytes());
    out.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    let ends = [[192, 0, 2, 1], [192, 0, 2, 2]];
    let ports = [40_000u16, 443];
    let (from, to) = (usize::from(direction), usize::from(1 - direction));
    out.extend(ends[from]);
    out.extend(ends[to]);
    out.extend(ports[from].to_be_bytes());
    out.extend(ports[to].to_be_bytes());
    out.extend((i32::from(seq) * 100).to_be_bytes());
    out.extend((i32::from(ack) * 100).to_be_bytes());
    out.extend([(5 + options.len() as u8 / 4) << 4, flags]);
    out.extend(window.to_be_bytes());
    out.extend([0; 4]);
    out.extend(options);
    out
}
