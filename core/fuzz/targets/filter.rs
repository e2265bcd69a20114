//! Loads an arbitrary program as a capture filter. It must be refused, or terminate for every packet.

#![no_main]

use bdpcap_core::filter::Program;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<(u16, u8, u8, u32)>, u32, &[u8])| {
    let (instructions, wire_len, packet) = input;
    if let Ok(program) = Program::new(&instructions) {
        let first = program.matches(packet, wire_len);
        assert_eq!(first, program.matches(packet, wire_len));
    }
});
