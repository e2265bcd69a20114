//! Decodes an arbitrary frame. The input is the link type, the number of bytes that the snaplen cut off, and the frame.

#![no_main]

use bdpcap_core::budget::Budget;
use bdpcap_core::decode::{self, LINK_TYPES, Packet, Path};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u16, &[u8])| {
    let (link, cut, frame) = input;
    let link_type = LINK_TYPES[usize::from(link) % LINK_TYPES.len()];
    let wire_len = frame.len() as u32 + u32::from(cut);
    let mut path = Path::default();
    if let Ok(Packet::Tcp(tcp)) = decode::decode(
        link_type,
        frame,
        wire_len,
        Budget::DEFAULT.headers,
        &mut path,
    ) {
        assert!(!format!("{:?}{path}", tcp.segment()).is_empty());
    }
});
